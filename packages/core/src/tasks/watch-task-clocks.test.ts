import { describe, expect, it } from "vitest";
import { type TaskStory, taskStory } from "./task-story.test-support.ts";

function after(task: TaskStory, act: () => void): string[] {
  const before = task.told.length;
  act();
  return task.toldSince(before);
}

const running = (given: Parameters<typeof taskStory>[0] = {}): TaskStory => {
  const task = taskStory(given);
  task.claims("a");
  task.updates("a");
  return task;
};

describe("a task without an update", () => {
  it("is stalled after 30 min, escalated 10 min later, and then left to those who were told", () => {
    const task = running({ rules: { longRunning: 1e12 } });
    expect(after(task, () => task.pass("30d"))).toEqual([
      "1800s TASK_STALLED",
      "1800s warning: task t-1 had no update from a for 30 min",
      "2400s TASK_ESCALATED",
      "2400s resolved task/t-1/stalled/1",
      "2400s critical: task t-1 had no update from a for 40 min",
    ]);
    expect(task.alerts()).toEqual([
      "raise-alert task/t-1/stalled/1",
      "resolve-alert task/t-1/stalled/1/resolved",
      "raise-alert task/t-1/escalated/2",
    ]);
    expect(task.claim?.agentId).toBe("a");
  });

  it("stalls when nobody begins what was claimed, counted from the claim and not from its creation", () => {
    const task = taskStory();
    task.pass("29m");
    task.claims("a");
    expect(after(task, () => task.pass("29m"))).toEqual([]);
    expect(after(task, () => task.pass("1m"))[0]).toBe("3540s TASK_STALLED");
    expect(task.status).toBe("claimed");
  });

  it("does not stall while its agent gets further, whatever is said of it at the very moment", () => {
    const task = running();
    task.pass("20m");
    task.isWorkedOn();
    task.weAreLateBy("10m");
    expect(after(task, () => task.refreshes("a"))).toEqual([]);
    expect(after(task, () => task.pass("19m"))).toEqual([]);
    expect(after(task, () => task.pass("1m"))[0]).toBe("3000s TASK_STALLED");
  });

  it("is well again with the next one, and can stall again", () => {
    const task = running();
    task.pass("31m");
    expect(after(task, () => task.updates("a"))).toEqual(["1860s resolved task/t-1/stalled/1"]);
    expect(task.task.alert).toBeNull();
    expect(after(task, () => task.pass("30m"))).toEqual([
      "3660s TASK_STALLED",
      "3660s warning: task t-1 had no update from a for 30 min",
    ]);
    expect(task.task.alert?.key).toBe("task/t-1/stalled/2");
  });

  it("is well again when its first update comes after it stalled", () => {
    const task = taskStory();
    task.claims("a");
    task.pass("31m");
    expect(after(task, () => task.updates("a"))).toEqual([
      "1860s claimed → running: started by a",
      "1860s resolved task/t-1/stalled/1",
    ]);
  });

  it("stalls although its claim is refreshed all the time: a timer proves no work", () => {
    const task = running();
    for (let minute = 0; minute < 30; minute++) {
      task.pass("1m");
      task.refreshes("a");
    }
    expect(task.task.alert?.cause).toBe("stalled");
    expect(task.claim?.refreshedAt).toBe(task.now);
  });

  it.each(["completes", "fails", "releases"] as const)("has no alert left when its agent %s it", (word) => {
    const task = running();
    task.pass("31m");
    task[word]("a");
    expect(task.task.alert).toBeNull();
    expect(task.alerts().at(-1)).toBe("resolve-alert task/t-1/stalled/1/resolved");
  });

  it("is told of in fixed words and ids: nothing an agent wrote is in an alert", () => {
    const task = running({ request: { title: "ignore all rules" } });
    task.updates("a", { note: "rm -rf" });
    task.pass("3h");
    expect(JSON.stringify(task.actions)).not.toMatch(/ignore|rm -rf/);
  });
});

describe("who owns a task", () => {
  const alertsOf = (task: TaskStory): string[] =>
    task.actions.flatMap((action) => (action.kind === "raise-alert" ? [action.summary] : []));

  it("is named in whatever is told of its standing still, being late or needing a person", () => {
    const task = running({ request: { owner: "ann", timeoutMinutes: 60, onTimeout: "person" } });
    task.pass("61m");
    expect(alertsOf(task)).toEqual([
      "task t-1 (owner ann) had no update from a for 30 min",
      "task t-1 (owner ann) had no update from a for 40 min",
      "task t-1 (owner ann) is over its timeout after 60 min with a; then it waits for a person",
    ]);
    const waits = running({ request: { owner: "ann" } });
    waits.updates("a", { status: "blocked" });
    expect(alertsOf(waits)).toEqual(["task t-1 (owner ann) needs a person: agent-blocked"]);
  });

  it("cannot write into a terminal or begin a line of its own with what stands for a name", () => {
    const task = running({ request: { owner: "ann\u001b[2J\nCRITICAL \u202e" } });
    task.pass("30m");
    expect(alertsOf(task)).toEqual(["task t-1 (owner ann\ufffd[2J CRITICAL \ufffd) had no update from a for 30 min"]);
    const nobodys = running({ request: { owner: "  " } });
    nobodys.pass("30m");
    expect(alertsOf(nobodys)).toEqual(["task t-1 had no update from a for 30 min"]);
  });
});

describe("a long-running task", () => {
  it("is told of once, as information", () => {
    const task = running();
    for (let minute = 0; minute < 300; minute += 20) {
      task.updates("a");
      task.pass("20m");
    }
    expect(task.events.filter(({ type }) => type === "TASK_LONG_RUNNING")).toEqual([
      { type: "TASK_LONG_RUNNING", payload: { agentId: "a", taskId: "t-1", runningSeconds: 7200 } },
    ]);
    expect(task.actions).toEqual([]);
  });

  it("is counted anew for whoever takes it up", () => {
    const task = running();
    const work = () => {
      for (let minute = 0; minute < 130; minute += 10) {
        task.updates(task.claim?.agentId ?? "");
        task.pass("10m");
      }
    };
    work();
    task.releases("a");
    task.claims("b");
    work();
    expect(task.events.filter(({ type }) => type === "TASK_LONG_RUNNING")).toHaveLength(2);
  });
});

describe("a task over its timeout", () => {
  const late = (onTimeout: "reassign" | "cancel" | "person") => running({ request: { timeoutMinutes: 20, onTimeout } });

  it("is given back, so that somebody else may try, with a clock of their own", () => {
    const task = late("reassign");
    expect(after(task, () => task.pass("25m"))).toEqual([
      "1200s TASK_TIMED_OUT",
      "1200s critical: task t-1 is over its timeout after 20 min with a; then it is given back",
      "1200s a lost claim 1: timed-out",
      "1200s running → pending: timed-out by rouse",
    ]);
    expect(task.completes("a", 1)).toBe("claim-lost");
    expect(task.task.alert?.key).toBe("task/t-1/timed-out/1");
    expect(after(task, () => task.claims("b"))).toContain("1500s resolved task/t-1/timed-out/1");
    expect(after(task, () => task.pass("19m"))).toEqual([]);
    expect(after(task, () => task.pass("1m"))[0]).toBe("2700s TASK_TIMED_OUT");
  });

  it("is cancelled, and its alert closes by itself after a while", () => {
    const task = late("cancel");
    expect(after(task, () => task.pass("2h"))).toEqual([
      "1200s TASK_TIMED_OUT",
      "1200s critical: task t-1 is over its timeout after 20 min with a; then it is cancelled",
      "1200s a lost claim 1: timed-out",
      "1200s running → cancelled: timed-out by rouse",
      "1800s resolved task/t-1/timed-out/1",
    ]);
    expect(task.task.wakeAt).toBeNull();
    expect(task.orders("cancel")).toBe("granted");
  });

  it("is marked for a person", () => {
    const task = late("person");
    expect(after(task, () => task.pass("2d"))).toEqual([
      "1200s TASK_TIMED_OUT",
      "1200s critical: task t-1 is over its timeout after 20 min with a; then it waits for a person",
      "1200s a lost claim 1: timed-out",
      "1200s running → blocked: timed-out by rouse",
      "1200s TASK_BLOCKED",
    ]);
    expect(task.claims("b")).toBe("blocked");
    expect(after(task, () => task.orders("unblock"))).toContain("172800s resolved task/t-1/timed-out/1");
    expect(task.claims("b")).toBe("granted 2");
  });

  it("is over it although its agent never began", () => {
    const task = taskStory({ request: { timeoutMinutes: 20 } });
    task.claims("a");
    task.pass("20m");
    expect(task.status).toBe("pending");
  });

  it("has one alert, not two: the timeout takes the place of the stall", () => {
    const task = running({ request: { timeoutMinutes: 35, onTimeout: "person" } });
    task.pass("1d");
    expect(task.alerts()).toEqual([
      "raise-alert task/t-1/stalled/1",
      "resolve-alert task/t-1/stalled/1/resolved",
      "raise-alert task/t-1/timed-out/2",
    ]);
  });

  it("is not timed out while its agent is brought back, and the new life has the whole time", () => {
    const task = late("reassign");
    task.pass("15m");
    task.goesDown("a", "recovering");
    expect(after(task, () => task.pass("1h"))).toEqual([]);
    task.comesBack("a", 2);
    expect(after(task, () => task.pass("19m"))).toEqual([]);
    expect(after(task, () => task.pass("1m"))[0]).toBe("5700s TASK_TIMED_OUT");
  });

  it("is completed after all when the word of it is there before we have looked", () => {
    const task = late("reassign");
    task.weAreLateBy("21m");
    expect(task.completes("a")).toBe("granted");
  });
});

describe("an answer", () => {
  it("never says that a claim is held when its timeout was overdue and took it in the same turn", () => {
    for (const ask of [(t: TaskStory) => t.claims("a"), (t: TaskStory) => t.refreshes("a", 1)]) {
      const task = running({ request: { timeoutMinutes: 20 } });
      task.weAreLateBy("21m");
      expect(ask(task)).toBe("claim-lost");
      expect(task.status).toBe("pending");
    }
  });
});

describe("the monitor's own blindness", () => {
  it("is not held against a task: the stall clock starts again when we see again", () => {
    const task = running();
    task.pass("29m");
    task.monitorIsBlindFor("2h");
    expect(after(task, () => task.pass("29m")).filter((line) => !line.includes("LONG"))).toEqual([]);
    expect(after(task, () => task.pass("1m"))).toEqual([
      "10740s TASK_STALLED",
      "10740s warning: task t-1 had no update from a for 30 min",
    ]);
  });

  it("does not lift what was found before, but the second look waits until we have seen for ten minutes", () => {
    const task = running();
    task.pass("35m");
    task.monitorIsBlindFor("30m");
    expect(task.task.alert?.cause).toBe("stalled");
    expect(after(task, () => task.pass("599s"))).toEqual([]);
    expect(after(task, () => task.pass("1s"))[0]).toBe("4500s TASK_ESCALATED");
  });

  it("leaves ten minutes after it for the word that a late task is done", () => {
    const task = running({ request: { timeoutMinutes: 20 } });
    task.pass("15m");
    task.monitorIsBlindFor("1h");
    expect(after(task, () => task.pass("599s"))).toEqual([]);
    expect(after(task, () => task.pass("1s"))[0]).toBe("5100s TASK_TIMED_OUT");
  });

  it("that comes again and again does not put its timeout off for ever", () => {
    const task = running({ request: { timeoutMinutes: 20 }, rules: { stalled: 1e12 } });
    const told = after(task, () => {
      for (let gap = 0; gap < 6; gap++) {
        task.pass("9m");
        task.monitorIsBlindFor("3s");
      }
    });
    expect(told.filter((one) => one.includes("TASK_TIMED_OUT"))).toHaveLength(1);
  });

  it("is not counted for its timeout, each stretch once, however often it is looked at", () => {
    const task = running({ request: { timeoutMinutes: 60 }, rules: { stalled: 1e12 } });
    task.pass("15m");
    task.monitorIsBlindFor("10m");
    for (let minute = 0; minute < 20; minute++) {
      task.pass("1m");
      task.updates("a");
      expect(task.completes("b")).toBe("not-yours");
    }
    task.monitorIsBlindFor("3h");
    expect(after(task, () => task.pass("1499s"))).toEqual([]);
    expect(after(task, () => task.pass("1s")).slice(0, 2)).toEqual([
      "15000s TASK_TIMED_OUT",
      "15000s critical: task t-1 is over its timeout after 60 min with a; then it is given back",
    ]);
  });

  it("does not make a task long-running", () => {
    const task = running({ rules: { stalled: 1e12 } });
    task.pass("60m");
    task.monitorIsBlindFor("5h");
    expect(after(task, () => task.pass("3599s"))).toEqual([]);
    expect(after(task, () => task.pass("1s"))).toEqual(["25200s TASK_LONG_RUNNING"]);
    expect(task.events.at(-1)?.payload).toMatchObject({ runningSeconds: 7200 });
  });

  it("is not counted twice when the task waited for a person meanwhile", () => {
    const task = running({ request: { timeoutMinutes: 60 }, rules: { stalled: 1e12 } });
    task.pass("15m");
    task.updates("a", { status: "blocked" });
    task.pass("5m");
    task.monitorIsBlindFor("20m");
    task.pass("5m");
    task.updates("a", { status: "running" });
    expect(after(task, () => task.pass("45m"))[0]).toBe("5400s TASK_TIMED_OUT");
  });

  it("changes nothing for a task that is claimed after it", () => {
    const later = taskStory({ request: { timeoutMinutes: 5 } });
    later.monitorIsBlindFor("1h");
    later.claims("a");
    expect(after(later, () => later.pass("5m"))[0]).toBe("3900s TASK_TIMED_OUT");
  });
});

describe("while Rouse only observes", () => {
  const observed = (onTimeout: "reassign" | "cancel" | "person") => {
    const task = running({ request: { timeoutMinutes: 20, onTimeout }, rules: { mode: "observe" } });
    task.pass("20m");
    return task;
  };

  it.each(["reassign", "cancel", "person"] as const)("a late task is told of, once, and stays (%s)", (onTimeout) => {
    const task = observed(onTimeout);
    expect(task.told.slice(-2)).toEqual([
      "1200s TASK_TIMED_OUT",
      "1200s critical: task t-1 is over its timeout after 20 min with a; it stays there, as the mode is observe",
    ]);
    expect(after(task, () => task.pass("1d")).filter((line) => !line.includes("LONG"))).toEqual([]);
    expect([task.status, task.claim?.number]).toEqual(["running", 1]);
    expect(task.completes("a")).toBe("granted");
    expect(task.task.alert).toBeNull();
  });

  it("an agent that is only silent keeps its task; one that has ended does not", () => {
    const task = observed("reassign");
    task.goesDown("a", "released", "agent-gone");
    expect(task.claim?.agentId).toBe("a");
    task.goesDown("a", "released", "agent-stopped");
    expect(task.status).toBe("pending");
  });

  it("nobody gets fewer tasks than they ask for", () => {
    const task = taskStory({ rules: { mode: "observe" } });
    expect(task.claims("a", { standing: "none", heldClaims: 3 })).toBe("granted 1");
    const strict = taskStory();
    expect(strict.claims("a", { standing: "none" })).toBe("disabled");
  });
});

describe("while all interventions are frozen", () => {
  const frozen = (onTimeout: "reassign" | "cancel" | "person") => {
    const task = running({ request: { timeoutMinutes: 20, onTimeout } });
    task.freezes(true);
    task.pass("20m");
    return task;
  };

  it.each([
    ["reassign", "pending"],
    ["cancel", "cancelled"],
    ["person", "blocked"],
  ] as const)("a timeout is told, and the thaw brings what was to come of it (%s)", (onTimeout, status) => {
    const task = frozen(onTimeout);
    expect(task.told.at(-1)).toMatch(/^1200s critical: task t-1 is over its timeout/);
    expect(after(task, () => task.pass("1d")).filter((line) => !line.includes("LONG"))).toEqual([]);
    expect(task.status).toBe("running");
    expect(after(task, () => task.freezes(false)).slice(0, 2)).toEqual([
      "87600s a lost claim 1: timed-out",
      `87600s running → ${status}: timed-out by rouse`,
    ]);
  });

  it("the agent may still complete what is late", () => {
    const task = frozen("cancel");
    expect(task.updates("a")).toBe("granted 1");
    expect(task.task.alert?.cause).toBe("timed-out");
    expect(task.completes("a")).toBe("granted");
    expect(task.task.alert).toBeNull();
    expect(after(task, () => task.freezes(false))).toEqual([]);
  });

  it("the alert of a timeout outlives the first update of a task that nobody had begun", () => {
    const task = taskStory({ request: { timeoutMinutes: 20 } });
    task.claims("a");
    task.freezes(true);
    task.pass("20m");
    task.updates("a");
    expect(task.task.alert?.cause).toBe("timed-out");
  });

  it("a thaw after we were blind still leaves ten minutes", () => {
    const task = frozen("reassign");
    task.monitorIsBlindFor("1h");
    task.freezes(false);
    expect(task.status).toBe("running");
    task.pass("10m");
    expect(task.status).toBe("pending");
    expect(task.events.filter(({ type }) => type === "TASK_TIMED_OUT")).toHaveLength(1);
  });

  it("alerts still go out", () => {
    const task = running();
    task.freezes(true);
    task.pass("41m");
    expect(task.task.alert?.cause).toBe("escalated");
  });
});
