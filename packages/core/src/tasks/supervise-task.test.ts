import { describe, expect, it } from "vitest";
import { dawn } from "../story.test-support.ts";
import { type TaskStory, taskStory } from "./task-story.test-support.ts";

/** What was told since the setup of the story. */
function after(task: TaskStory, act: () => void): string[] {
  const before = task.told.length;
  act();
  return task.toldSince(before);
}

const held = (given: Parameters<typeof taskStory>[0] = {}): TaskStory => {
  const task = taskStory(given);
  task.claims("a");
  return task;
};

const running = (given: Parameters<typeof taskStory>[0] = {}): TaskStory => {
  const task = held(given);
  task.updates("a");
  return task;
};

describe("a task", () => {
  it("is created, claimed, worked on and completed, and each step is told with who did it", () => {
    const task = taskStory();
    expect(task.claims("a")).toBe("granted 1");
    task.pass("1m");
    expect(task.updates("a", { note: "halfway" })).toBe("granted 1");
    task.pass("1m");
    expect(task.completes("a")).toBe("granted");
    expect(task.told).toEqual([
      "0s TASK_CREATED",
      "0s a has claim 1",
      "0s pending → claimed: claimed by a",
      "60s claimed → running: started by a",
      "120s running → completed: done by a",
    ]);
    expect(task.task).toMatchObject({ note: "halfway", because: "done", wakeAt: null });
    expect(task.task.state).toMatchObject({ by: { agentId: "a", number: 1 }, overAt: dawn + 120_000 });
  });

  it("is created once", () => {
    const task = taskStory();
    expect(task.answer({ kind: "created" })).toBe("exists");
    task.claims("a");
    expect(task.answer({ kind: "created" })).toBe("exists");
    expect(task.told).toHaveLength(3);
  });

  it("waits to be claimed for as long as it takes, without a clock", () => {
    const task = taskStory({ request: { timeoutMinutes: 1 } });
    task.pass("30d");
    expect(task.looks).toBe(0);
    expect(task.told).toEqual(["0s TASK_CREATED"]);
  });

  it("keeps the last note when an update brings none", () => {
    const task = held();
    task.updates("a", { note: "halfway" });
    task.updates("a");
    expect(task.task.note).toBe("halfway");
  });

  it("that its agent failed is over", () => {
    const task = running();
    expect(task.fails("a")).toBe("granted");
    expect(task.status).toBe("failed");
    expect(task.fails("a", 1)).toBe("granted");
    expect(task.completes("a")).toBe("over");
    expect(task.claims("b")).toBe("over");
  });

  it("may be reported completed twice by who completed it, since the first answer may have been lost", () => {
    const task = running();
    task.completes("a", 1);
    const before = task.task;
    expect(task.completes("a", 1)).toBe("granted");
    expect(task.completes("a")).toBe("granted");
    expect(task.completes("b")).toBe("over");
    expect(task.fails("a")).toBe("over");
    expect(task.task).toEqual(before);
  });

  it("given back by its agent can be taken up by another", () => {
    const task = running();
    expect(after(task, () => task.releases("a"))).toEqual([
      "0s a lost claim 1: released-by-agent",
      "0s running → pending: released-by-agent by a",
    ]);
    expect(task.claims("b")).toBe("granted 2");
  });
});

describe("a claim", () => {
  it("that is asked for twice is given once", () => {
    const task = held();
    task.pass("1m");
    expect(after(task, () => expect(task.claims("a")).toBe("granted 1"))).toEqual([]);
    expect(task.claim?.refreshedAt).toBe(dawn + 60_000);
    expect(task.task.updatedAt).toBe(dawn);
  });

  it("is granted again even to an agent that would not get a new task", () => {
    const task = held();
    expect(task.claims("a", { standing: "none", ready: false })).toBe("granted 1");
  });

  it.each([
    ["of a task somebody has", "taken", () => held(), {}],
    ["before what it depends on is completed", "not-ready", () => taskStory(), { ready: false }],
    ["of an agent with few assignments that has one", "few-assignments", () => taskStory(), few(1)],
    ["of an agent that gets nothing", "disabled", () => taskStory(), { standing: "none" as const }],
    ["of a task meant for another", "taken", () => meantFor("c"), {}],
  ])("%s is refused: %s, and nothing changes", (_, because, make, extras) => {
    const task = make();
    const before = task.task;
    expect(task.claims("b", extras)).toBe(because);
    expect(task.task).toBe(before);
  });

  it("of an agent with few assignments that has none is granted", () => {
    expect(taskStory().claims("b", few(0))).toBe("granted 1");
  });

  it("that is refused does not hide what its clock would have told", () => {
    const task = held();
    const before = task.told.length;
    task.pass("29m");
    task.claims("b");
    task.pass("1m");
    expect(task.toldSince(before)[0]).toBe("1800s TASK_STALLED");
  });

  it("that is refused changes nothing even when a clock is overdue: that is for whoever looks at clocks", () => {
    const task = held();
    task.weAreLateBy("31m");
    const before = task.task;
    expect(after(task, () => expect(task.claims("b")).toBe("taken"))).toEqual([]);
    expect(task.task).toBe(before);
    expect(after(task, () => task.pass("1s"))[0]).toBe("1860s TASK_STALLED");
  });

  it("by a later life of the same agent is a new one, so the earlier life cannot speak for the task any more", () => {
    const task = running();
    expect(after(task, () => expect(task.claims("a", { incarnation: 2 })).toBe("granted 2"))).toEqual([
      "0s a lost claim 1: agent-gone",
      "0s a has claim 2",
      "0s running → claimed: claimed by a",
    ]);
    expect(task.completes("a", 1)).toBe("claim-lost");
    expect(task.claims("a", { incarnation: 1 })).toBe("taken");
    expect(task.claims("a", { incarnation: null })).toBe("granted 2");
  });

  it("lost to another is recognised by its number", () => {
    const task = running();
    task.releases("a");
    expect(task.completes("a", 1)).toBe("claim-lost");
    expect(task.completes("a")).toBe("not-yours");
    task.claims("b");
    expect(task.updates("a", { claim: 1 })).toBe("claim-lost");
    expect(task.refreshes("a")).toBe("not-yours");
    expect(task.completes("b", 2)).toBe("granted");
    expect(task.completes("a", 1)).toBe("claim-lost");
  });

  it("nobody was given speaks for nobody", () => {
    const task = held();
    expect(task.completes("a", 7)).toBe("claim-lost");
    expect(task.completes("b", 1)).toBe("not-yours");
    expect(task.status).toBe("claimed");
  });
});

describe("a person's word", () => {
  it("cancels once", () => {
    const task = running();
    expect(after(task, () => expect(task.orders("cancel")).toBe("granted"))).toEqual([
      "0s a lost claim 1: cancelled-by-person",
      "0s running → cancelled: cancelled-by-person by ann",
    ]);
    expect(after(task, () => expect(task.orders("cancel")).toBe("granted"))).toEqual([]);
    expect(task.updates("a", { claim: 1 })).toBe("over");
    expect(task.orders("unblock")).toBe("over");
    expect(task.reassigns("b")).toBe("over");
  });

  it("does not undo what is completed", () => {
    const task = running();
    task.completes("a");
    expect(task.orders("cancel")).toBe("over");
    expect(task.orders("block")).toBe("over");
  });

  it("takes a task from one agent and keeps it for another", () => {
    const task = running();
    expect(after(task, () => task.reassigns("b"))).toEqual([
      "0s a lost claim 1: reassigned-by-person",
      "0s running → pending: reassigned-by-person by ann",
    ]);
    expect(after(task, () => expect(task.reassigns("b")).toBe("granted"))).toEqual([]);
    expect(task.claims("a")).toBe("taken");
    expect(task.claims("b")).toBe("granted 2");
    expect(after(task, () => expect(task.reassigns("b")).toBe("granted"))).toEqual([]);
  });

  it("is kept with the claim: what that agent gives back anybody may take up", () => {
    const task = meantFor("b");
    task.claims("b");
    task.releases("b");
    expect(task.claims("a")).toBe("granted 2");
  });

  it("opens a task that was kept for one agent to everybody", () => {
    const task = meantFor("b");
    expect(after(task, () => task.reassigns(null))).toEqual(["0s pending → pending: reassigned-by-person by ann"]);
    expect(task.claims("a")).toBe("granted 1");
  });

  it("blocks and unblocks, each once", () => {
    const task = running();
    expect(after(task, () => task.orders("block"))).toEqual([
      "0s a lost claim 1: marked-by-person",
      "0s running → blocked: marked-by-person by ann",
      "0s TASK_BLOCKED",
    ]);
    expect(after(task, () => expect(task.orders("block")).toBe("granted"))).toEqual([]);
    expect(task.claims("b")).toBe("blocked");
    expect(task.updates("a", { claim: 1 })).toBe("claim-lost");
    expect(after(task, () => task.orders("unblock"))).toEqual(["0s blocked → pending: unblocked-by-person by ann"]);
    expect(after(task, () => expect(task.orders("unblock")).toBe("granted"))).toEqual([]);
    expect(task.claims("b")).toBe("granted 2");
  });

  it("lets an agent that said it cannot go on do so with the same claim, and the time it waited does not count", () => {
    const task = running({ request: { timeoutMinutes: 20 } });
    task.pass("15m");
    expect(after(task, () => task.updates("a", { status: "blocked", note: "no password" }))).toEqual([
      "900s running → blocked: agent-blocked by a",
      "900s TASK_BLOCKED",
      "900s warning: task t-1 needs a person: agent-blocked",
    ]);
    expect(after(task, () => task.pass("5h"))).toEqual([]);
    expect(after(task, () => task.updates("a", { status: "blocked", note: "still no password" }))).toEqual([]);
    expect(task.updates("a")).toBe("granted 1");
    expect(task.task).toMatchObject({ note: "still no password", state: { status: "blocked" } });
    expect(after(task, () => expect(task.orders("unblock")).toBe("granted"))).toEqual([
      "18900s blocked → running: unblocked-by-person by ann",
      "18900s resolved task/t-1/blocked/1",
    ]);
    expect(after(task, () => task.pass("299s"))).toEqual([]);
    expect(after(task, () => task.pass("1s"))[0]).toBe("19200s TASK_TIMED_OUT");
  });

  it("is not needed when the agent itself gets over what blocked it", () => {
    const task = running();
    task.updates("a", { status: "blocked" });
    expect(after(task, () => expect(task.updates("a", { status: "running" })).toBe("granted 1"))).toEqual([
      "0s blocked → running: updated by a",
      "0s resolved task/t-1/blocked/1",
    ]);
    task.updates("a", { status: "blocked" });
    expect(task.completes("a")).toBe("granted");
    expect(task.task.alert).toBeNull();
  });

  it("outweighs an agent's: a task marked by a person is not taken up again by the agent that had it", () => {
    const task = running();
    task.updates("a", { status: "blocked" });
    task.orders("block");
    expect(task.updates("a", { status: "running" })).toBe("not-yours");
    expect(task.task.because).toBe("marked-by-person");
  });

  it("is still waited for when the agent that is blocked gives the task back or goes down", () => {
    for (const leave of [(t: TaskStory) => t.releases("a"), (t: TaskStory) => t.goesDown("a", "recovering")]) {
      const task = running();
      task.updates("a", { status: "blocked" });
      leave(task);
      expect(task.task).toMatchObject({ state: { status: "blocked", claim: null }, because: "agent-blocked" });
      expect(task.task.alert?.cause).toBe("blocked");
      task.orders("unblock");
      expect(task.claims("b")).toBe("granted 2");
    }
  });
});

describe("a critical task that needs a person", () => {
  const critical = { priority: "critical", timeoutMinutes: 10, onTimeout: "person" } as const;
  const alertsOf = ({ actions }: TaskStory) =>
    actions.flatMap((action) => (action.kind === "raise-alert" ? [`${action.severity} ${action.summary}`] : []));

  it("while others do is told as SEV-1, about the agent that had it", () => {
    const task = running({ request: critical, othersBlocked: 1 });
    task.updates("a", { status: "blocked" });
    expect(alertsOf(task).at(-1)).toBe(
      "critical SEV-1: 2 critical tasks need a person, the last of them task t-1: agent-blocked",
    );
    expect(task.task.alert).toMatchObject({ cause: "blocked", severity: "critical", agentId: "a" });
    task.orders("unblock");
    expect(task.task.alert).toBeNull();
    const late = running({ request: critical, othersBlocked: 2 });
    late.pass("10m");
    expect(alertsOf(late).at(-1)).toBe(
      "critical SEV-1: 3 critical tasks need a person, the last of them task t-1: timed-out",
    );
    expect(late.task.alert?.agentId).toBe("a");
  });

  it("alone, less urgent or blocked by a person themselves is no more than it was", () => {
    const alone = running({ request: critical });
    const lesser = running({ request: { ...critical, priority: "high" }, othersBlocked: 5 });
    for (const task of [alone, lesser]) {
      task.updates("a", { status: "blocked" });
      expect(alertsOf(task)).toEqual(["warning task t-1 needs a person: agent-blocked"]);
    }
    const theirs = running({ request: critical, othersBlocked: 5 });
    theirs.orders("block");
    expect(alertsOf(theirs)).toEqual([]);
  });
});

describe("a task whose agent goes down", () => {
  it("is kept for its next life, which goes on with a claim of its own", () => {
    const task = running();
    task.pass("5m");
    expect(after(task, () => task.goesDown("a", "recovering", "agent-stopped"))).toEqual([
      "300s a lost claim 1: agent-stopped",
      "300s running → recovering: being-recovered by rouse",
    ]);
    expect(task.claims("b", { incarnation: 9 })).toBe("being-recovered");
    expect(task.claims("a")).toBe("being-recovered"); // the life that is being ended
    expect(task.completes("a", 1)).toBe("claim-lost");
    task.pass("1m");
    expect(after(task, () => task.comesBack("a", 2))).toEqual([
      "360s a has claim 2",
      "360s recovering → running: recovered by rouse",
    ]);
    expect(task.task).toMatchObject({ recoveries: 1, updatedAt: dawn + 360_000 });
    expect(task.completes("a", 2)).toBe("granted");
  });

  it("can be taken up by that next life itself, should it ask before anybody told of it", () => {
    const task = running();
    task.goesDown("a", "recovering");
    expect(task.claims("a", { incarnation: 2 })).toBe("granted 2");
    expect(task.status).toBe("running");
    expect(after(task, () => task.comesBack("a", 2))).toEqual([]);
  });

  it("can be taken up by others when the agent is not brought back", () => {
    const task = running();
    expect(after(task, () => task.goesDown("a", "released", "agent-finished"))).toEqual([
      "0s a lost claim 1: agent-finished",
      "0s running → pending: agent-finished by rouse",
    ]);
    expect(task.claims("b")).toBe("granted 2");
  });

  it("is freed when the recovery comes to nothing", () => {
    const task = running();
    task.goesDown("a", "recovering");
    expect(after(task, () => task.goesDown("a", "released"))).toEqual(["0s recovering → pending: agent-gone by rouse"]);
    expect(task.claims("b")).toBe("granted 2");
    expect(after(task, () => task.comesBack("a", 2))).toEqual([]);
  });

  it("goes to a person when the agent ran into the same error again and again", () => {
    const task = running();
    expect(after(task, () => task.goesDown("a", "blocked", "repeated-error"))).toEqual([
      "0s a lost claim 1: repeated-error",
      "0s running → blocked: repeated-error by rouse",
      "0s TASK_BLOCKED",
      "0s critical: task t-1 needs a person: repeated-error",
    ]);
    expect(task.actions).toMatchObject([{ kind: "raise-alert", key: "task/t-1/blocked/1", agentId: "a" }]);
    task.orders("unblock");
    expect(task.alerts()).toEqual(["raise-alert task/t-1/blocked/1", "resolve-alert task/t-1/blocked/1/resolved"]);
  });

  it("is brought back three times, then waits for a person, who starts the count anew", () => {
    const task = held();
    for (let life = 2; life <= 4; life++) {
      task.goesDown("a", "recovering");
      task.comesBack("a", life);
    }
    expect(task.task.recoveries).toBe(3);
    expect(after(task, () => task.goesDown("a", "recovering", "agent-stopped"))).toEqual([
      "0s a lost claim 4: agent-stopped",
      "0s running → blocked: recoveries-exhausted by rouse",
      "0s TASK_BLOCKED",
      "0s critical: task t-1 needs a person: recoveries-exhausted",
    ]);
    expect(task.claims("b")).toBe("recoveries-exhausted");
    task.orders("unblock");
    expect(task.task.recoveries).toBe(0);
    expect(task.claims("b")).toBe("granted 5");
  });

  it("is brought back after limits as often as there are any: nothing has failed", () => {
    const task = held();
    for (let life = 2; life <= 9; life++) {
      task.goesDown("a", "recovering", "being-recovered", true);
      // The start was put off once, because the limit still stood.
      task.goesDown("a", "recovering", "being-recovered", true);
      task.comesBack("a", life);
    }
    expect(task.task).toMatchObject({ recoveries: 0, state: { status: "running" } });
  });

  it("counts each recovery that is begun, also when the one before came to nothing", () => {
    const task = held();
    for (let attempt = 1; attempt <= 3; attempt++) task.goesDown("a", "recovering");
    expect(task.task).toMatchObject({ recoveries: 3, state: { status: "recovering" } });
    task.goesDown("a", "recovering");
    expect(task.task).toMatchObject({ recoveries: 3, because: "recoveries-exhausted" });
  });

  it("may be given to another by a person, which starts the count anew too", () => {
    const task = held({ rules: { maxRecoveries: 1 } });
    task.goesDown("a", "recovering");
    task.goesDown("a", "recovering");
    expect(task.status).toBe("blocked");
    task.reassigns("b");
    expect(task.claims("b")).toBe("granted 2");
    task.goesDown("b", "recovering");
    expect(task.status).toBe("recovering");
  });

  it("is no longer kept for an agent that does not come back", () => {
    const task = meantFor("b");
    expect(after(task, () => task.goesDown("b", "recovering"))).toEqual([]);
    expect(task.claims("a")).toBe("taken");
    expect(after(task, () => task.goesDown("b", "released"))).toEqual(["0s pending → pending: agent-gone by rouse"]);
    expect(task.claims("a")).toBe("granted 1");
  });

  it("is no longer kept for it either while it waits for a person", () => {
    const task = meantFor("b");
    task.orders("block");
    task.goesDown("b", "released");
    task.orders("unblock");
    expect(task.claims("a")).toBe("granted 1");
  });

  it("is brought back by a person as often as they say, and what counted before no longer does", () => {
    const task = running();
    const ordered = (life: number): void => {
      task.goesDown("a", "recovering", "recovered-by-person");
      task.comesBack("a", life);
    };
    for (const life of [2, 3, 4]) {
      task.goesDown("a", "recovering");
      task.comesBack("a", life);
    }
    for (const life of [5, 6, 7, 8, 9]) ordered(life);
    expect(task.status).toBe("running");
    expect(task.task).toMatchObject({ recoveries: 0, because: "recovered" });
  });

  it("and that waits for a person because of it is taken up again by their word, but not what they themselves have stopped", () => {
    const task = running();
    task.goesDown("a", "blocked", "repeated-error");
    expect(after(task, () => task.goesDown("a", "recovering", "recovered-by-person"))).toEqual([
      "0s blocked → recovering: recovered-by-person by rouse",
      "0s resolved task/t-1/blocked/1",
    ]);
    task.comesBack("a", 2);
    expect(task.status).toBe("running");
    task.orders("block");
    expect(after(task, () => task.goesDown("a", "recovering", "recovered-by-person"))).toEqual([]);
    expect(task.status).toBe("blocked");
  });

  it("is not touched by what happens to other agents", () => {
    const task = running();
    expect(after(task, () => task.goesDown("b", "released"))).toEqual([]);
    expect(after(task, () => task.comesBack("a", 2))).toEqual([]);
    expect(task.claim?.number).toBe(1);
    task.goesDown("a", "recovering");
    expect(after(task, () => task.goesDown("b", "blocked"))).toEqual([]);
    expect(after(task, () => task.comesBack("b", 2))).toEqual([]);
    expect(task.status).toBe("recovering");
  });
});

describe("what its agent achieved", () => {
  it("takes back nothing that was heard of the task since", () => {
    const task = running();
    task.pass("1m");
    task.isWorkedOn();
    task.pass("19m");
    task.updates("a");
    const heardAt = task.now;
    expect(after(task, () => task.pass("29m"))).toEqual([]);
    task.refreshes("a");
    expect(task.task.updatedAt).toBe(heardAt);
  });

  it("undoes no stall that came after it", () => {
    const task = running();
    task.pass("1m");
    task.isWorkedOn();
    task.refreshes("a");
    const told = after(task, () => {
      task.pass("35m");
      task.refreshes("a");
      task.pass("1h");
    });
    expect(told.filter((line) => line.includes("TASK_STALLED"))).toHaveLength(1);
  });

  it("is no word about a task that it cannot go on with", () => {
    const task = running();
    task.updates("a", { status: "blocked" });
    const { updatedAt } = task.task;
    task.pass("10m");
    task.isWorkedOn();
    task.refreshes("a");
    expect(task.task.updatedAt).toBe(updatedAt);
  });
});

describe("a checkpoint", () => {
  it("is a fact of work, whoever saved it for the claimant", () => {
    for (const by of ["a", null]) {
      const task = held();
      task.pass("20m");
      task.checkpoints(by, "c7");
      expect(task.task).toMatchObject({ lastCheckpoint: "c7", updatedAt: task.now, state: { status: "running" } });
      task.pass("29m");
      expect(task.task.alert).toBeNull();
    }
  });

  it("of somebody who does not hold the task is kept, but is no work of who does", () => {
    const task = held();
    task.pass("20m");
    task.checkpoints("b", "c7");
    expect(task.task).toMatchObject({ lastCheckpoint: "c7", updatedAt: dawn, state: { status: "claimed" } });
  });

  it("comes too late for a task that is over", () => {
    const task = running();
    task.completes("a");
    task.checkpoints("a", "c7");
    expect(task.task.lastCheckpoint).toBeNull();
  });
});

function few(heldClaims: number) {
  return { standing: "few" as const, heldClaims };
}

function meantFor(agentId: string): TaskStory {
  const task = taskStory();
  task.reassigns(agentId);
  return task;
}
