import { type SavedEvent, toIso } from "@rouse/contract";
import { type Commit, taskMachine } from "../ports/store.ts";
import { subscribe } from "./subscribe.ts";

type EventListener = (events: readonly SavedEvent[]) => void;
type TaskListener = (taskIds: readonly string[]) => void;

/** True of nearly every commit: its beats only moved clocks, so there is nothing to tell or to do. */
const isOnlySignals = ({ events, actions, machines, audit, marks }: Commit): boolean =>
  events.length + actions.length + machines.length + audit.length === 0 && Object.keys(marks).length === 0;

/** Tells listeners of every saved commit. `act` does what the commit intends. */
export function announceCommits(eventsUntilNow: number, act: (commit: Commit) => void) {
  const commitListeners = new Set<() => void>();
  const taskListeners = new Set<TaskListener>();
  const eventListeners = new Set<EventListener>();
  let lastEventId = eventsUntilNow;

  function announce(commit: Commit): void {
    for (const listener of commitListeners) listener();
    if (isOnlySignals(commit)) return;
    act(commit);
    const tasks = commit.machines.filter(({ machine }) => machine === taskMachine);
    if (tasks.length > 0) for (const listener of taskListeners) listener(tasks.map(({ id }) => id));
    const last = commit.events[commit.events.length - 1];
    if (last === undefined) return;
    lastEventId = last.id;
    if (eventListeners.size === 0) return;
    const events = commit.events.map(({ id, time, event }) => ({ id, time: toIso(time), ...event }) as SavedEvent);
    for (const listener of eventListeners) listener(events);
  }

  return {
    announce,
    lastEventId: (): number => lastEventId,
    onCommit: (listener: () => void) => subscribe(commitListeners, listener),
    onTasksSaved: (listener: TaskListener) => subscribe(taskListeners, listener),
    onEvents: (listener: EventListener) => subscribe(eventListeners, listener),
  };
}
