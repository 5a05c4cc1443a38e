import { minutes, policyFrom, type RouseEvent, settingsOf, type TaskReport } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { TaskWorker } from "../actors/task-worker.ts";
import { seededRandom } from "../world/random.ts";
import type { AgentVerb, Order, TaskAnswer, TaskCall } from "../world/task-line.ts";
import { judgeTasks } from "./task-judge.ts";

// What a broken monitor would say, and whether the judge notices. What the real one says, it accepts: that is what simulate.test.ts is for.

type Status = TaskReport["status"];

function court() {
  let now = 0;
  const violations: string[] = [];
  const workers = new Map(
    [1, 2].map((number) => new TaskWorker(number, seededRandom(number))).map((one) => [one.id, one]),
  );
  const blind: { from: number; to: number }[] = [];
  const judge = judgeTasks({
    now: () => now,
    violated: (text) => violations.push(text),
    policy: policyFrom("", settingsOf("default")).tasks,
    workers,
    held: new Map(),
    blind,
    faults: blind,
    excusedSince: () => 0,
    mayForget: () => false,
    ttl: minutes(15),
    questionTimeout: minutes(15),
  });

  const report = (taskId: string, status: Status, agentId: string | null = null, number = 1): TaskReport =>
    ({ taskId, status, claim: agentId === null ? null : { agentId, number }, reservedFor: null }) as TaskReport;
  const granted = (task: TaskReport | null): TaskAnswer => ({ kind: "granted", task });
  const hears = (...events: RouseEvent[]): void => {
    for (const event of events) judge.note(event);
  };
  const claimed = (taskId: string, agentId: string, claim = 1): RouseEvent => ({
    type: "TASK_CLAIMED",
    payload: { taskId, agentId, claim },
  });
  const released = (taskId: string, agentId: string, claim = 1): RouseEvent => ({
    type: "TASK_RELEASED",
    payload: { taskId, agentId, claim, because: "agent-gone" },
  });
  const changed = (taskId: string, from: Status, to: Status, because = "claimed"): RouseEvent =>
    ({ type: "TASK_CHANGED", payload: { taskId, agentId: null, from, to, because, actor: "x" } }) as RouseEvent;
  const clock = (type: "TASK_STALLED" | "TASK_LONG_RUNNING" | "TASK_TIMED_OUT", taskId: string): RouseEvent =>
    ({ type, payload: { taskId, agentId: null } }) as unknown as RouseEvent;

  function asks(call: TaskCall, answer: TaskAnswer, ...events: RouseEvent[]): void {
    judge.witness.asked(call)(answer);
    hears(...events);
    judge.settle();
  }
  const said = (verb: AgentVerb, agentId: string, taskId: string | null, claim?: number): TaskCall => ({
    ...{ by: "agent", verb, agentId, life: null, taskId, claim },
  });
  const ordered = (verb: Order, taskId: string, body = {}): TaskCall => ({ by: "person", verb, taskId, body });

  function create(taskId: string, body: object = {}): void {
    const made = { priority: "normal", dependsOn: [], onTimeout: "reassign", ...body };
    const event: RouseEvent = { type: "TASK_CREATED", payload: { agentId: null, taskId, priority: "normal" } };
    now += minutes(1);
    asks(ordered("create", taskId, made), granted(report(taskId, "pending")), event);
  }
  function give(taskId: string, agentId: string, claim = 1): void {
    const events = [claimed(taskId, agentId, claim), changed(taskId, "pending", "claimed")];
    asks(said("claim", agentId, taskId), granted(report(taskId, "claimed", agentId, claim)), ...events);
  }
  function end(taskId: string, agentId: string, verb: "complete" | "fail" = "complete"): void {
    const to = verb === "complete" ? "completed" : "failed";
    asks(said(verb, agentId, taskId, 1), granted(report(taskId, to)), changed(taskId, "claimed", to, "done"));
  }
  const pass = (time: number): void => {
    now += time;
    judge.lookForTheForgotten();
  };
  return {
    ...{ judge, violations, workers, blind, create, give, end, pass, asks, said, ordered, hears },
    ...{ claimed, released, changed, clock, report, granted },
    now: () => now,
  };
}

describe("the judge of tasks", () => {
  it("has nothing to say of a task that is claimed, done, and what waits for it after that", () => {
    const { violations, create, give, end } = court();
    create("a");
    create("b", { dependsOn: ["a"] });
    give("a", "worker-1");
    end("a", "worker-1");
    give("b", "worker-2");
    end("b", "worker-2");
    expect(violations).toEqual([]);
  });

  it("notices a task that is given to two", () => {
    const { violations, create, give, hears, claimed } = court();
    create("a");
    give("a", "worker-1");
    hears(claimed("a", "worker-2", 2));
    expect(violations[0]).toBe("a was given to worker-2 while worker-1 holds it by claim 1");
  });

  it("notices a task that is given out before what it depends on is completed", () => {
    const { violations, create, give } = court();
    create("a");
    create("b", { dependsOn: ["a"] });
    give("b", "worker-1");
    expect(violations).toEqual(["b was given to worker-1 before a is completed"]);
  });

  it("notices a claim-next that passes over what is more urgent, or older", () => {
    const { violations, create, asks, said, granted, report, claimed, changed } = court();
    create("old");
    create("new");
    create("urgent", { priority: "high" });
    const next = said("claim-next", "worker-1", null);
    asks(
      next,
      granted(report("old", "claimed", "worker-1")),
      claimed("old", "worker-1"),
      changed("old", "pending", "claimed"),
    );
    expect(violations).toEqual(["worker-1 asked for the next task and got old, and urgent comes before it"]);
  });

  it("notices that somebody is told there is nothing to do while there is", () => {
    const { violations, create, asks, said, granted } = court();
    create("a");
    asks(said("claim-next", "worker-1", null), granted(null));
    expect(violations).toEqual(["worker-1 was told that there is nothing to do, and a is ready"]);
  });

  it("notices a task that is completed by a claim that was lost, or comes back after its end", () => {
    const { violations, create, give, end, hears, released, changed, asks, said, granted, report } = court();
    create("a");
    give("a", "worker-1");
    hears(released("a", "worker-1"), changed("a", "claimed", "pending", "timed-out"));
    give("a", "worker-1", 2);
    asks(
      said("complete", "worker-1", "a", 1),
      granted(report("a", "completed")),
      changed("a", "claimed", "completed", "done"),
    );
    expect(violations.at(-1)).toContain("a is completed, and nobody who may has said so");
    create("b");
    give("b", "worker-1");
    end("b", "worker-1");
    hears(changed("b", "completed", "pending", "reassigned-by-person"));
    expect(violations).toContain("b went from completed to pending");
  });

  it("notices an answer that is not saved, and a task that is lost or another's after a restart", () => {
    const { judge, violations, create, give, asks, said, granted, report } = court();
    create("a");
    create("b");
    asks(said("claim", "worker-1", "a"), granted(report("a", "claimed", "worker-1")));
    expect(violations).toEqual(["claim 1 of a was answered and is not saved"]);
    give("a", "worker-1");
    judge.compare([report("a", "claimed", "worker-2")], "after a restart");
    expect(violations.slice(1)).toEqual([
      "b is lost after a restart (it was pending)",
      "a is claimed, worker-2's by claim 1 after a restart, and was claimed, worker-1's by claim 1",
    ]);
  });

  it("notices that a former life is obeyed, and that somebody is refused without a reason", () => {
    const { violations, workers, create, asks, said, granted, report, give } = court();
    create("a");
    create("b");
    give("a", "worker-1");
    workers.get("worker-1")?.noteHeard(2, 0);
    asks({ ...said("refresh", "worker-1", "a"), life: 1 } as TaskCall, granted(report("a", "claimed", "worker-1")));
    asks(said("claim", "worker-1", "b"), { kind: "refused", because: "taken" });
    expect(violations).toEqual([
      "refresh of worker-1 was granted to incarnation 1, and 2 is known",
      "claim of b by worker-1 was refused: taken (it was pending, nobody's)",
    ]);
  });

  it("notices that what a dead agent has is not given back in time", () => {
    const { violations, workers, create, give, pass } = court();
    const worker = workers.get("worker-1") as TaskWorker;
    create("a");
    give("a", "worker-1");
    worker.noteHeard(1, 0);
    worker.state = { kind: "dead", since: minutes(1) };
    pass(minutes(25));
    expect(violations).toEqual([]);
    pass(minutes(20));
    expect(violations).toContain("a is still worker-1's, which has been dead for 45.0 min");
  });

  it("notices that a task is taken from one that was just heard", () => {
    const { violations, workers, now, create, give, hears, released, changed } = court();
    create("a");
    give("a", "worker-1");
    workers.get("worker-1")?.noteHeard(1, now());
    hears(released("a", "worker-1"), changed("a", "claimed", "pending", "agent-gone"));
    expect(violations).toEqual(["a was taken from worker-1, which was heard 0 s ago"]);
  });
});

describe("the judge of a task's clocks", () => {
  it("notices a stall that is told too early, and one that is not told", () => {
    const { violations, create, give, hears, clock, pass } = court();
    create("early");
    give("early", "worker-1");
    pass(minutes(20));
    hears(clock("TASK_STALLED", "early"));
    expect(violations).toEqual(["early is told to stand still 20.0 min after work on it"]);
    create("late");
    give("late", "worker-2");
    pass(minutes(32));
    expect(violations).toContain("late had no work for 32.0 min, and nobody was told");
  });

  it("takes a stall that was due before the monitor went blind for no early one, and one that it could not have seen for early", () => {
    const { violations, blind, now, create, give, hears, clock, pass } = court();
    create("due");
    give("due", "worker-1");
    pass(minutes(30));
    blind.push({ from: now() - 2000, to: now() });
    hears(clock("TASK_STALLED", "due"));
    expect(violations).toEqual([]);
    create("early");
    give("early", "worker-2");
    pass(minutes(30));
    blind.push({ from: now() - minutes(5), to: now() });
    hears(clock("TASK_STALLED", "early"));
    expect(violations).toContain("early is told to stand still 0.0 min after work on it");
  });

  it("notices a timeout that is told too early, counts no time in which the monitor was blind, and notices one that is not told", () => {
    const { violations, blind, now, create, give, hears, clock, changed, released, pass } = court();
    create("a", { timeoutMinutes: 60 });
    give("a", "worker-1");
    pass(minutes(20));
    blind.push({ from: now() - minutes(15), to: now() });
    pass(minutes(41));
    hears(clock("TASK_STALLED", "a"), clock("TASK_TIMED_OUT", "a"));
    expect(violations.at(-1)).toBe("a is told to be over its timeout 14.0 min too early: 46.0 min of work count");
    hears(released("a", "worker-1"), changed("a", "claimed", "pending", "timed-out"));
    create("b", { timeoutMinutes: 25 });
    give("b", "worker-2");
    pass(minutes(27));
    expect(violations.at(-1)).toContain("b has been worked on for 27.0 min, and its timeout of 25.0 min was not told");
  });

  it("notices that what timed out is taken away in a freeze, and what becomes of it against what its owner wants", () => {
    const { violations, create, give, hears, released, changed, clock, pass } = court();
    create("a", { timeoutMinutes: 20, onTimeout: "person" });
    give("a", "worker-1");
    pass(minutes(20));
    hears({ type: "MONITOR_FROZEN", payload: { actor: "ann", reason: "" } }, clock("TASK_TIMED_OUT", "a"));
    hears(released("a", "worker-1"), changed("a", "claimed", "pending", "timed-out"));
    expect(violations).toEqual([
      "a timed out and is pending, where person was wanted",
      "a was taken away for its timeout in a freeze",
    ]);
  });

  it("notices that what timed out in a freeze is not taken away within a minute of the thaw", () => {
    const { violations, create, give, hears, clock, pass } = court();
    create("a", { timeoutMinutes: 20 });
    give("a", "worker-1");
    pass(minutes(20));
    hears({ type: "MONITOR_FROZEN", payload: { actor: "ann", reason: "" } }, clock("TASK_TIMED_OUT", "a"));
    pass(minutes(9));
    hears({ type: "MONITOR_THAWED", payload: { actor: "ann", reason: "" } });
    pass(minutes(1));
    expect(violations).toEqual([]);
    pass(minutes(1));
    expect(violations).toEqual(["a timed out 11.0 min ago and is still worker-1's"]);
  });

  it("notices that nobody is told of a task that is long-running", () => {
    const { violations, create, give, pass, asks, said, granted, report, changed } = court();
    create("a");
    give("a", "worker-1");
    const goesOn = granted(report("a", "running", "worker-1"));
    asks(said("update", "worker-1", "a"), goesOn, changed("a", "claimed", "running", "started"));
    for (let i = 0; i < 13; i++) {
      asks(said("update", "worker-1", "a"), goesOn);
      pass(minutes(10));
    }
    expect(violations).toEqual(["a has been worked on for 130.0 min, and nobody was told that it is long-running"]);
  });
});

describe("the judge of trust", () => {
  it("notices that too many failures have no consequence, and that whoever gets one at a time is given a second", () => {
    const { violations, create, give, end, hears } = court();
    for (const taskId of ["a", "b", "c", "d", "e"]) create(taskId);
    for (const taskId of ["a", "b", "c"]) {
      give(taskId, "worker-1");
      end(taskId, "worker-1", "fail");
    }
    expect(violations).toEqual(["worker-1 should be trusted with few, and nobody was told"]);
    hears({ type: "ASSIGNMENTS_RESTORED", payload: { agentId: "worker-1", actor: "rouse" } });
    expect(violations.at(-1)).toBe("worker-1 is told to be trusted with normal, and few is due");
    give("d", "worker-1");
    give("e", "worker-1");
    expect(violations.at(-1)).toBe("worker-1 is trusted with one task at a time and was given e beside 1 others");
  });
});
