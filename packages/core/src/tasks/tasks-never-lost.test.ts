import type { RouseEvent, TaskReason } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { superviseTask } from "./supervise-task.ts";
import { claimOf, isAtWork, isTaskOver, type TaskRecord } from "./task-record.ts";
import type { TaskRules, TaskSignal } from "./task-signal.ts";
import { type TaskStory, taskStory } from "./task-story.test-support.ts";
import { timeoutDue } from "./watch-task-clocks.ts";

/** Short clocks, so that a random life of minutes crosses all of them. All times are whole seconds. */
const hasty: Partial<TaskRules> = { stalled: 30_000, recheck: 10_000, longRunning: 50_000, maxRecoveries: 2 };

type Step =
  | { readonly do: "wait"; readonly seconds: number }
  | { readonly do: "signal"; readonly signal: TaskSignal }
  | { readonly do: "blind"; readonly seconds: number }
  | { readonly do: "freeze"; readonly frozen: boolean };

const agentId = fc.constantFrom("a", "a", "a", "a", "b", "c");
const claim = fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined, freq: 1 });
const person = { actor: fc.constant("ann"), reason: fc.constant("because I say so") };
const because = fc.constantFrom<TaskReason>("agent-stopped", "agent-gone", "agent-finished", "repeated-error");

const signal: fc.Arbitrary<TaskSignal> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("claim" as const),
      agentId,
      incarnation: fc.option(fc.integer({ min: 1, max: 3 }), { freq: 4 }),
      standing: fc.constantFrom(
        "normal" as const,
        "normal" as const,
        "normal" as const,
        "few" as const,
        "none" as const,
      ),
      heldClaims: fc.nat(1),
      ready: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("update" as const),
      agentId,
      claim,
      status: fc.constantFrom(undefined, undefined, "running" as const, "blocked" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("refresh" as const, "release" as const), agentId, claim }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("complete" as const, "fail" as const), agentId, claim }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("block" as const, "unblock" as const), ...person }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reassign" as const), to: fc.option(agentId), ...person }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("agent-down" as const),
      agentId,
      because,
      fate: fc.constantFrom("recovering" as const, "recovering" as const, "released" as const, "blocked" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("agent-recovered" as const),
      agentId,
      incarnation: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("checkpointed" as const),
      checkpoint: fc.constantFrom("c1", "c2"),
      agentId: fc.option(agentId),
    }),
  },
);

const cancel: TaskSignal = { kind: "cancel", actor: "ann", reason: "because I say so" };

const lives: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant("wait" as const), seconds: fc.nat(60) }) },
    { weight: 16, arbitrary: fc.record({ do: fc.constant("signal" as const), signal }) },
    { weight: 1, arbitrary: fc.constant({ do: "signal" as const, signal: cancel }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("blind" as const), seconds: fc.nat(60) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("freeze" as const), frozen: fc.boolean() }) },
  ),
  { minLength: 10, maxLength: 40, size: "max" },
);

const requests = fc.record({
  timeoutMinutes: fc.option(fc.constantFrom(0.5, 1, 1.5)),
  onTimeout: fc.constantFrom("reassign" as const, "cancel" as const, "person" as const),
});
type Request = { timeoutMinutes: number | null; onTimeout: "reassign" | "cancel" | "person" };

function live(task: TaskStory, step: Step): void {
  switch (step.do) {
    case "wait":
      task.pass(step.seconds * 1000);
      break;
    case "signal":
      task.take(step.signal);
      break;
    case "blind":
      task.monitorIsBlindFor(step.seconds * 1000);
      break;
    case "freeze":
      task.freezes(step.frozen);
      break;
  }
}

/** Plays a life and calls `look` after each step. */
function tell(
  request: Request,
  steps: readonly Step[],
  look?: (task: TaskStory, before: TaskRecord) => void,
): TaskStory {
  const task = taskStory({ request, rules: hasty });
  for (const step of steps) {
    const before = task.task;
    live(task, step);
    look?.(task, before);
  }
  return task;
}

describe("deadlines are data", () => {
  it("looking only when the task asks for it tells exactly what looking every second tells, at the same moment", () => {
    const seen = new Map<string, number>();
    let asked = 0;
    let polled = 0;
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        const woken = taskStory({ request, rules: hasty });
        const watched = taskStory({ request, rules: hasty, lookEvery: 1000 });
        for (const step of steps) {
          live(woken, step);
          live(watched, step);
        }
        expect(woken.told).toEqual(watched.told);
        expect(woken.actions).toEqual(watched.actions);
        expect(woken.task).toEqual(watched.task);
        for (const { type } of woken.events) seen.set(type, (seen.get(type) ?? 0) + 1);
        asked += woken.looks;
        polled += watched.looks;
      }),
      { numRuns: 1000 },
    );
    // The random lives tested enough.
    for (const type of ["TASK_STALLED", "TASK_ESCALATED", "TASK_LONG_RUNNING", "TASK_TIMED_OUT", "ALERT_RESOLVED"])
      expect(seen.get(type) ?? 0, type).toBeGreaterThan(20);
    expect(asked).toBeLessThan(polled / 10);
  });
});

describe("whatever happens to a task", () => {
  it("it is never held by two: of all claims ever given at most one may speak for it", () => {
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        tell(request, steps, (task) => {
          const given = task.events.flatMap((event) => (event.type === "TASK_CLAIMED" ? [event.payload] : []));
          const heard = given.filter(({ agentId, claim }) => accepts(task, { kind: "refresh", agentId, claim }));
          expect(heard.length).toBe(claimOf(task.task) === null ? 0 : 1);
        });
      }),
      { numRuns: 500 },
    );
  });

  it("the numbers of its claims only grow, and each is given and lost at most once", () => {
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        const { events } = tell(request, steps);
        const given = numbers(events, "TASK_CLAIMED");
        const lost = numbers(events, "TASK_RELEASED");
        expect(given).toEqual(given.map((_, i) => i + 1));
        expect(new Set(lost).size).toBe(lost.length);
        expect(lost).toEqual(lost.toSorted((a, b) => a - b));
      }),
      { numRuns: 500 },
    );
  });

  it("what is over stays as it is, and nobody gets or loses anything by it any more", () => {
    let over = 0;
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        tell(request, steps, (task, before) => {
          if (!isTaskOver(before)) return;
          over += 1;
          // Only the alert about a task that a timeout cancelled still closes.
          expect(task.task).toEqual({ ...before, alert: task.task.alert, wakeAt: task.task.wakeAt });
          if (before.state.status !== "cancelled") expect(task.task).toBe(before);
        });
      }),
      { numRuns: 500 },
    );
    expect(over).toBeGreaterThan(500);
  });

  it("it is never lost: if it is not over, those it waits for can bring it to its end", () => {
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        const task = tell(request, steps);
        expect(bringToEnd(task)).toBe("completed");
      }),
      { numRuns: 1000 },
    );
  });

  it("a claim is taken only for a reason that was told, and every change of state is told", () => {
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        const { events, status } = tell(request, steps);
        const changes = events.flatMap((event) => (event.type === "TASK_CHANGED" ? [event.payload] : []));
        expect(["pending", ...changes.map(({ to }) => to)]).toEqual([...changes.map(({ from }) => from), status]);
        const ended = changes.filter(({ to }) => to === "completed" || to === "failed").length;
        const held = status === "claimed" || status === "running" || status === "blocked";
        const open = numbers(events, "TASK_CLAIMED").length - numbers(events, "TASK_RELEASED").length - ended;
        expect(open).toBeLessThanOrEqual(held ? 1 : 0);
        expect(open).toBeGreaterThanOrEqual(status === "claimed" || status === "running" ? 1 : 0);
      }),
      { numRuns: 500 },
    );
  });

  it("at most one alert about it is open, none once it is completed, and no key is used twice", () => {
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        const task = tell(request, steps);
        const keys = task.actions.map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
        const open = keys.filter((key) => !key.endsWith("/resolved") && !keys.includes(`${key}/resolved`));
        expect(open).toEqual(task.task.alert === null ? [] : [task.task.alert.key]);
        if (task.status === "completed" || task.status === "failed") expect(open).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("whoever has to act on it has been told, unless it was them who said so", () => {
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        const { task } = tell(request, steps);
        if (task.state.status === "blocked" && task.because !== "marked-by-person") expect(task.alert).not.toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it("whoever only observes takes nothing from anybody, and still tells that it is late", () => {
    let late = 0;
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        const task = taskStory({ request, rules: { ...hasty, mode: "observe" } });
        for (const step of steps) live(task, step);
        for (const event of task.events) {
          if (event.type === "TASK_TIMED_OUT") late += 1;
          if (event.type === "TASK_CHANGED") expect(event.payload.because).not.toMatch(/timed-out|agent-gone/);
        }
      }),
      { numRuns: 500 },
    );
    expect(late).toBeGreaterThan(20);
  });

  it("no clock is ever set back: what is not late does not become so by our not seeing it", () => {
    fc.assert(
      fc.property(requests, lives, fc.integer({ min: 1, max: 600 }), (request, steps, blind) => {
        const task = tell(request, steps);
        const due = dueOf(task);
        task.monitorIsBlindFor(blind * 1000);
        if (due !== null && isAtWork(task.task.state)) expect(dueOf(task)).toBeGreaterThanOrEqual(due + blind * 1000);
      }),
      { numRuns: 500 },
    );
  });

  it("a freeze lets no clock take a claim away", () => {
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        const task = tell(request, steps);
        task.freezes(true);
        const before = task.claim?.number;
        task.pass("1h");
        expect(task.claim?.number).toBe(before);
      }),
      { numRuns: 300 },
    );
  });
});

describe("one turn", () => {
  it("is the same for the same arguments, and leaves what it was given as it was", () => {
    fc.assert(
      fc.property(requests, lives, signal, (request, steps, next) => {
        const { task, now, rules, doubt } = tell(request, steps);
        const before = deepFreeze(structuredClone(task));
        const turn = () => superviseTask(before, next, { now: now + 1000, rules, doubt });
        expect(turn()).toEqual(turn());
      }),
    );
  });

  it("a record is plain data: saved and read back it is the same", () => {
    fc.assert(
      fc.property(requests, lives, (request, steps) => {
        const { task } = tell(request, steps);
        expect(JSON.parse(JSON.stringify(task))).toEqual(task);
      }),
    );
  });
});

const dueOf = ({ task, rules, doubt }: TaskStory): number | null =>
  isAtWork(task.state) ? timeoutDue(task, task.state.claim, { rules, doubt }) : null;

const accepts = (task: TaskStory, next: TaskSignal): boolean =>
  superviseTask(task.task, next, { now: task.now, rules: task.rules, doubt: task.doubt }).reply?.kind === "granted";

/** Everybody does their part, and nothing else: the claimant, whoever may claim, the person, the recovery. */
function bringToEnd(task: TaskStory): string {
  const { state, reservedFor } = task.task;
  switch (state.status) {
    case "claimed":
    case "running":
      task.completes(state.claim.agentId, state.claim.number);
      return task.status;
    case "pending":
      expect(task.claims(reservedFor ?? "d")).toMatch(/^granted/);
      return bringToEnd(task);
    case "blocked":
      expect(task.orders("unblock")).toMatch(/^granted/);
      return bringToEnd(task);
    case "recovering":
      task.comesBack(state.agentId, 9);
      return bringToEnd(task);
    case "completed":
    case "failed":
    case "cancelled":
      return "completed";
  }
}

const numbers = (events: readonly RouseEvent[], type: "TASK_CLAIMED" | "TASK_RELEASED"): number[] =>
  events.flatMap((event) => (event.type === type ? [event.payload.claim] : []));

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
