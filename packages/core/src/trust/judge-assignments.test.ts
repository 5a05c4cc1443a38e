import type { RouseEvent } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Action } from "../signal.ts";
import { dawn } from "../story.test-support.ts";
import { type TaskStory, taskStory } from "../tasks/task-story.test-support.ts";
import {
  admitsClaim,
  judgeAssignments,
  newAssignments,
  outcomeOf,
  restoreAssignments,
  type TaskOutcome,
} from "./judge-assignments.ts";

const policy = { highErrorRate: 0.3, mode: "act" } as const;

function describeEvent(event: RouseEvent): string {
  switch (event.type) {
    case "ASSIGNMENTS_REDUCED":
      return `REDUCED ${event.payload.failed}/${event.payload.of}`;
    case "ASSIGNMENTS_STOPPED":
      return `STOPPED ${event.payload.failed}/${event.payload.of}`;
    case "ASSIGNMENTS_RESTORED":
      return `RESTORED by ${event.payload.actor}`;
    default:
      return event.type;
  }
}

const describeAlert = (action: Action): string =>
  action.kind === "raise-alert" ? `${action.key} ${action.severity}: ${action.summary}` : action.key;

/** One agent's tasks ending one after the other: `.` done, `x` failed. */
function agent(history = "") {
  let assignments = newAssignments("a", dawn);
  let now = dawn;
  const told: string[] = [];
  const alerts: string[] = [];
  const note = ({ events, actions, assignments: next }: ReturnType<typeof judgeAssignments>): void => {
    assignments = next;
    told.push(...events.filter(({ type }) => !type.startsWith("ALERT_")).map(describeEvent));
    alerts.push(...actions.map(describeAlert));
    expect(events.filter(({ type }) => type.startsWith("ALERT_"))).toHaveLength(actions.length);
  };
  const ends = (outcomes: string): void => {
    for (const one of outcomes) {
      now += 1000;
      note(judgeAssignments(assignments, one === "x" ? "failed" : "done", now, policy));
    }
  };
  ends(history);
  return {
    ends,
    restored: (actor: string) => note(restoreAssignments(assignments, actor, now)),
    told,
    /** Raised: severity and summary. Resolved: its key. */
    alerts,
    get assignments() {
      return assignments;
    },
    get standing() {
      return assignments.standing;
    },
  };
}

describe("an agent whose tasks fail", () => {
  it("is not judged by its first two, however they end", () => {
    expect(agent("").standing).toBe("normal");
    expect(agent("xx").standing).toBe("normal");
    expect(agent("xxx").told).toEqual(["REDUCED 3/3"]);
  });

  it("gets fewer at three failures of ten, not at two", () => {
    expect(agent(".......xx.").told).toEqual([]);
    expect(agent(".......xxx").told).toEqual(["REDUCED 3/10"]);
  });

  it("is judged by its last ten only", () => {
    const worker = agent("xxx");
    worker.ends(".".repeat(4));
    expect(worker.standing).toBe("few"); // 3 of 7
    worker.restored("ann");
    worker.ends("..........xx");
    expect(worker.standing).toBe("normal"); // 2 of the last 10
    expect(worker.assignments.outcomes).toHaveLength(10);
  });

  it("gets as many as before, by itself, once the share is low again", () => {
    const worker = agent("....x.x.x");
    expect(worker.told).toEqual(["REDUCED 3/9"]);
    worker.ends(".....");
    expect(worker.standing).toBe("few"); // 3 of 10
    worker.ends(".");
    expect(worker.told).toEqual(["REDUCED 3/9", "RESTORED by rouse"]);
    expect(worker.standing).toBe("normal");
  });

  it("is not stopped for what it was reduced for: five good ones are five good ones", () => {
    const worker = agent("......xxx");
    worker.ends(".....");
    expect(worker.standing).toBe("few"); // 3 of 10, but none of the five since
    worker.ends("xx");
    expect(worker.told).toEqual(["REDUCED 3/9"]); // 2 of the 7 since
    worker.ends("x");
    expect(worker.told.at(-1)).toMatch(/^STOPPED/);
  });

  it("gets none when five more tasks have not made it better, until a person trusts it again", () => {
    const worker = agent("xxx");
    worker.ends("x.x.");
    expect(worker.standing).toBe("few");
    worker.ends("x");
    expect(worker.told).toEqual(["REDUCED 3/3", "STOPPED 6/8"]);
    worker.ends("..........");
    expect(worker.standing).toBe("none");
    worker.restored("ann");
    expect(worker.assignments).toMatchObject({ standing: "normal", outcomes: [] });
    expect(worker.told.at(-1)).toBe("RESTORED by ann");
    worker.ends("xx");
    expect(worker.standing).toBe("normal");
  });

  it("has five more tasks again each time it gets fewer", () => {
    const worker = agent("x.xx");
    worker.ends("......");
    expect(worker.standing).toBe("few"); // 3 of 10
    worker.ends("...");
    expect(worker.told).toEqual(["REDUCED 2/3", "RESTORED by rouse"]);
    worker.ends("xxx");
    expect(worker.told.at(-1)).toBe("REDUCED 3/10");
    worker.ends("xxxx");
    expect(worker.standing).toBe("few");
    worker.ends("x");
    expect(worker.standing).toBe("none");
  });

  it("is not restored when nothing was taken from it", () => {
    const worker = agent("..x");
    worker.restored("ann");
    worker.restored("ann");
    expect(worker.told).toEqual(["REDUCED 1/3", "RESTORED by ann"]);
  });

  it("gets as many as before while Rouse only observes, and is judged by all of it afterwards", () => {
    const failing = (mode: "observe" | "act", before = newAssignments("a", dawn)) =>
      judgeAssignments(before, "failed", dawn, { highErrorRate: 0.3, mode });
    let observed = failing("observe");
    for (let n = 0; n < 9; n++) observed = failing("observe", observed.assignments);
    expect(observed.assignments).toMatchObject({ standing: "normal", outcomes: { length: 10 } });
    expect([observed.events, observed.actions]).toEqual([[], []]);
    expect(failing("act", observed.assignments).assignments.standing).toBe("few");
  });

  it("has somebody told: a warning, then a critical alert with the way back, until it is trusted again", () => {
    const worker = agent("xx");
    expect(worker.alerts).toEqual([]);
    worker.ends("xxxxx");
    expect(worker.alerts).toEqual([
      "assignments/a/few/1 warning: 3 of the last 3 tasks of a failed: it gets one at a time",
    ]);
    worker.ends("x");
    expect(worker.alerts.slice(1)).toEqual([
      "assignments/a/few/1/resolved",
      "assignments/a/none/2 critical: 8 of the last 8 tasks of a failed: it gets none until `rouse tasks trust a`",
    ]);
    worker.ends("xx");
    worker.restored("ann");
    worker.restored("ann");
    expect(worker.alerts.slice(3)).toEqual(["assignments/a/none/2/resolved"]);
    worker.ends("xxx");
    expect(worker.alerts[4]).toMatch(/^assignments\/a\/few\/3 warning/);
    worker.ends("........");
    expect(worker.alerts.slice(5)).toEqual(["assignments/a/few/3/resolved"]);
  });

  it("has an alert open as long as it gets fewer than others, never two, and none under a key that was used before", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(".", "x", "t"), maxLength: 80 }), (history) => {
        const worker = agent();
        for (const one of history) one === "t" ? worker.restored("ann") : worker.ends(one);
        const open = new Set<string>();
        const used = new Set<string>();
        for (const line of worker.alerts) {
          const key = line.split(" ")[0] ?? "";
          if (key.endsWith("/resolved")) expect(open.delete(key.replace("/resolved", ""))).toBe(true);
          else {
            expect(used.has(key)).toBe(false);
            used.add(key);
            open.add(key);
          }
          expect(open.size).toBeLessThanOrEqual(1);
        }
        expect([...open]).toEqual(worker.standing === "normal" ? [] : [worker.assignments.alert]);
      }),
    );
  });

  it("may hold one task when it gets few, any number when it is trusted, and none when it gets none", () => {
    expect([0, 1, 9].map((held) => admitsClaim({ standing: "normal" }, held))).toEqual([null, null, null]);
    expect([0, 1, 9].map((held) => admitsClaim({ standing: "few" }, held))).toEqual([
      null,
      "few-assignments",
      "few-assignments",
    ]);
    expect([0, 1].map((held) => admitsClaim({ standing: "none" }, held))).toEqual(["disabled", "disabled"]);
  });

  it("is never stopped without having got fewer first, and never judged by more than ten", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(".", "x"), maxLength: 60 }), (history) => {
        const worker = agent(history);
        expect(worker.assignments.outcomes).toEqual(
          [...history].slice(-10).map((one) => (one === "x" ? "failed" : "done")),
        );
        worker.told.forEach((line, i) => {
          if (line.startsWith("STOPPED")) expect(worker.told[i - 1]).toMatch(/^REDUCED/);
        });
      }),
    );
  });
});

describe("what counts as an agent's failure", () => {
  const outcome = (end: (task: TaskStory) => unknown): { agentId: string; outcome: TaskOutcome } | null => {
    const task = taskStory({ request: { timeoutMinutes: 5, onTimeout: "cancel" } });
    task.claims("a");
    const before = task.task;
    end(task);
    return outcomeOf(before, task.task);
  };

  it("is its own word, once", () => {
    expect(outcome((task) => task.completes("a"))).toEqual({ agentId: "a", outcome: "done" });
    expect(outcome((task) => task.fails("a"))).toEqual({ agentId: "a", outcome: "failed" });
    const task = taskStory();
    task.claims("a");
    task.fails("a");
    const before = task.task;
    task.fails("a");
    expect(outcomeOf(before, task.task)).toBeNull();
  });

  it.each([
    ["a person cancelled", (task: TaskStory) => task.orders("cancel")],
    ["a person gave to another", (task: TaskStory) => task.reassigns("b")],
    ["timed out", (task: TaskStory) => task.pass("5m")],
    ["was taken away because its agent was stopped", (task: TaskStory) => task.goesDown("a", "released")],
    ["waits for a person", (task: TaskStory) => task.goesDown("a", "blocked")],
    ["was given back", (task: TaskStory) => task.releases("a")],
  ])("is not a task that %s", (_, end) => {
    expect(outcome(end)).toBeNull();
  });
});
