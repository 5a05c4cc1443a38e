import type { ActivityKind, EpochMs, RouseEvent } from "@rouse/contract";
import { type AgentRecord, isExited } from "@rouse/core";
import { subscribe } from "../engine/subscribe.ts";

type ActivityChange = Extract<RouseEvent, { type: "AGENT_ACTIVITY_CHANGED" }>["payload"];
export type ActivityListener = (change: ActivityChange, time: EpochMs) => void;

/** Tells whoever listens that an agent does something else now. It is no fact that is kept: it is read off the record, as `rouse ps` does. */
export function tellActivity() {
  const listeners = new Set<ActivityListener>();
  return {
    onActivity: (listener: ActivityListener) => subscribe(listeners, listener),
    /** Called after every turn, so it looks only when somebody listens. */
    noteTurn(before: AgentRecord, after: AgentRecord, time: EpochMs): void {
      if (listeners.size === 0 || before === after || describe(before) === describe(after)) return;
      const change = { agentId: after.agentId, from: kindOf(before), to: kindOf(after) };
      for (const listener of listeners) listener(change, time);
    },
  };
}

const kindOf = (record: AgentRecord): ActivityKind => (isExited(record) ? "EXITED" : record.work.activity.kind);

/** Everything of an activity that is shown in a list. */
function describe(record: AgentRecord): string {
  const { activity } = record.work;
  if (activity.kind === "RUNNING") return `${kindOf(record)} ${activity.open?.kind} ${activity.open?.name}`;
  return activity.kind === "WAITING" ? `${kindOf(record)} ${activity.for} ${activity.until}` : kindOf(record);
}
