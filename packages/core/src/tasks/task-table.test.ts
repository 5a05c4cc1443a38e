import { TaskStatus } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type TaskStory, taskStory } from "./task-story.test-support.ts";

/** A task in each status. The agent that holds it, ended it or is brought back for it is `a`, in its first life. */
const inStatus: Readonly<Record<string, () => TaskStory>> = {
  pending: () => taskStory(),
  claimed: () => told((task) => task.claims("a")),
  running: () => told((task) => [task.claims("a"), task.updates("a")]),
  recovering: () => told((task) => [task.claims("a"), task.goesDown("a", "recovering")]),
  blocked: () => told((task) => task.orders("block")),
  "blocked/a": () => told((task) => [task.claims("a"), task.updates("a", { status: "blocked" })]),
  completed: () => told((task) => [task.claims("a"), task.completes("a")]),
  failed: () => told((task) => [task.claims("a"), task.fails("a")]),
  cancelled: () => told((task) => task.orders("cancel")),
};

const signals: Readonly<Record<string, (task: TaskStory) => unknown>> = {
  created: (task) => task.answer({ kind: "created" }),
  "a:claim": (task) => task.claims("a"),
  "a2:claim": (task) => task.claims("a", { incarnation: 2 }),
  "b:claim": (task) => task.claims("b"),
  "a:refresh": (task) => task.refreshes("a"),
  "b:refresh": (task) => task.refreshes("b"),
  "a:update": (task) => task.updates("a"),
  "a:run": (task) => task.updates("a", { status: "running" }),
  "a:blocked": (task) => task.updates("a", { status: "blocked" }),
  "b:update": (task) => task.updates("b"),
  "a:complete": (task) => task.completes("a"),
  "b:complete": (task) => task.completes("b"),
  "9:complete": (task) => task.completes("a", 9),
  "a:fail": (task) => task.fails("a"),
  "a:release": (task) => task.releases("a"),
  cancel: (task) => task.orders("cancel"),
  "reassign-a": (task) => task.reassigns("a"),
  "reassign-b": (task) => task.reassigns("b"),
  reassign: (task) => task.reassigns(null),
  block: (task) => task.orders("block"),
  unblock: (task) => task.orders("unblock"),
  "recover-a": (task) => task.goesDown("a", "recovering"),
  "release-a": (task) => task.goesDown("a", "released"),
  "block-a": (task) => task.goesDown("a", "blocked"),
  "down-b": (task) => task.goesDown("b", "blocked"),
  "a-is-back": (task) => task.comesBack("a", 2),
  "b-is-back": (task) => task.comesBack("b", 2),
  checkpoint: (task) => task.checkpoints("a"),
  wake: (task) => task.take({ kind: "wake" }),
};

/** What each signal makes of each status: another status, `=` when it stays, or `!` and the refusal. */
const table = `
            pending     claimed     running     recovering        blocked     blocked/a   completed   failed      cancelled
created     !exists     !exists     !exists     !exists           !exists     !exists     !exists     !exists     !exists
a:claim     claimed     =           =           !being-recovered  !blocked    =           !over       !over       !over
a2:claim    claimed     =           claimed     running           !blocked    !blocked    !over       !over       !over
b:claim     claimed     !taken      !taken      !being-recovered  !blocked    !blocked    !over       !over       !over
a:refresh   !not-yours  =           =           !not-yours        !not-yours  =           !over       !over       !over
b:refresh   !not-yours  !not-yours  !not-yours  !not-yours        !not-yours  !not-yours  !over       !over       !over
a:update    !not-yours  running     =           !not-yours        !not-yours  =           !over       !over       !over
a:run       !not-yours  running     =           !not-yours        !not-yours  running     !over       !over       !over
a:blocked   !not-yours  blocked     blocked     !not-yours        !not-yours  =           !over       !over       !over
b:update    !not-yours  !not-yours  !not-yours  !not-yours        !not-yours  !not-yours  !over       !over       !over
a:complete  !not-yours  completed   completed   !not-yours        !not-yours  completed   =           !over       !over
b:complete  !not-yours  !not-yours  !not-yours  !not-yours        !not-yours  !not-yours  !over       !over       !over
9:complete  !claim-lost !claim-lost !claim-lost !claim-lost       !claim-lost !claim-lost !claim-lost !claim-lost !claim-lost
a:fail      !not-yours  failed      failed      !not-yours        !not-yours  failed      !over       =           !over
a:release   !not-yours  pending     pending     !not-yours        !not-yours  =           !over       !over       !over
cancel      cancelled   cancelled   cancelled   cancelled         cancelled   cancelled   !over       !over       =
reassign-a  =           =           =           =                 pending     pending     !over       !over       !over
reassign-b  =           pending     pending     pending           pending     pending     !over       !over       !over
reassign    =           pending     pending     pending           pending     pending     !over       !over       !over
block       blocked     blocked     blocked     blocked           =           =           !over       !over       !over
unblock     =           =           =           =                 pending     running     !over       !over       !over
recover-a   =           recovering  recovering  =                 =           =           =           =           =
release-a   =           pending     pending     pending           =           =           =           =           =
block-a     =           blocked     blocked     blocked           =           =           =           =           =
down-b      =           =           =           =                 =           =           =           =           =
a-is-back   =           =           =           running           =           =           =           =           =
b-is-back   =           =           =           =                 =           =           =           =           =
checkpoint  =           running     =           =                 =           =           =           =           =
wake        =           =           =           =                 =           =           =           =           =
`;

const [statuses = [], ...rows] = table
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/\s+/));
const cells = rows.flatMap(([signal = "", ...outcomes]) =>
  statuses.map((status, i) => [signal, status, outcomes[i] ?? ""] as const),
);

describe("every status and every signal", () => {
  it("is in the table", () => {
    expect(new Set(statuses.map((status) => status.split("/")[0]))).toEqual(new Set(TaskStatus.options));
    expect(statuses).toEqual(Object.keys(inStatus));
    expect(rows.map(([signal]) => signal)).toEqual(Object.keys(signals));
  });

  it.each(cells)("%s when %s: %s", (signal, status, outcome) => {
    const task = make(inStatus, status)();
    const before = task.task;
    const answer = make(signals, signal)(task);
    if (outcome.startsWith("!")) {
      expect(`!${answer}`).toBe(outcome);
      expect(task.task).toBe(before);
    } else {
      expect(task.status).toBe(outcome === "=" ? before.state.status : outcome);
      if (typeof answer === "string") expect(answer).toMatch(/^granted/);
    }
  });

  it.each(cells)("%s when %s: the change is told once, with where from and where to", (signal, status) => {
    const task = make(inStatus, status)();
    const before = task.task.state.status;
    const said = task.events.length;
    make(signals, signal)(task);
    const changes = task.events
      .slice(said)
      .flatMap((event) => (event.type === "TASK_CHANGED" ? [`${event.payload.from} → ${event.payload.to}`] : []));
    if (before !== task.status) expect(changes).toEqual([`${before} → ${task.status}`]);
    else expect(changes.filter((change) => change !== `${before} → ${before}`)).toEqual([]);
  });
});

function told(tell: (task: TaskStory) => unknown): TaskStory {
  const task = taskStory();
  tell(task);
  return task;
}

function make<T>(from: Readonly<Record<string, T>>, name: string): T {
  const found = from[name];
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}
