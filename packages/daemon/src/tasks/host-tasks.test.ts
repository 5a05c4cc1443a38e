import { days, minutes, seconds } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { dawn, exited, stopped, type TaskWorld, taskWorld } from "./task-world.test-support.ts";

/** Agent `a`, whose terminal Rouse holds, works on task `t`. */
async function atWork(config?: string): Promise<TaskWorld> {
  const world = await taskWorld(config === undefined ? {} : { config });
  await world.service.create({ taskId: "t" });
  world.holds({ agentId: "a", taskId: "t" });
  await world.service.claim("t", { agentId: "a" });
  return world;
}

async function crash(world: TaskWorld, incarnation: number): Promise<void> {
  world.reports("a", 1, exited({ code: 1 }));
  world.pass(seconds(90));
  await world.handsAnswer("restart-agent", { kind: "restarted", incarnation, recovery: null });
  world.holds({ agentId: "a", taskId: "t", incarnation });
}

const types = (world: TaskWorld, prefix: string): string[] =>
  world.eventTypes().filter((type) => type.startsWith(prefix));

describe("a task whose agent ends", () => {
  it("is done when its agent ends with 0, and only the one it was started for", async () => {
    const world = await atWork();
    await world.service.create({ taskId: "other" });
    await world.service.claim("other", { agentId: "a" });
    world.reports("a", 1, exited({ code: 0 }));
    expect(world.tell("t")).toBe("completed done");
    expect(world.tell("other")).toBe("pending agent-finished");
  });

  it("still waits for a person when its agent said so and then ended with 0", async () => {
    const world = await atWork();
    await world.service.create({ taskId: "next", dependsOn: ["t"] });
    await world.service.update("t", { agentId: "a", status: "blocked", note: "need the password" });
    world.reports("a", 1, exited({ code: 0 }));
    await world.saved();
    expect(world.tell("t")).toBe("blocked agent-blocked");
    expect(world.actions.map(({ kind }) => kind)).toEqual(["raise-alert"]);
    expect((await world.service.claimNext({ agentId: "b" })).task).toBeNull();
    await world.service.unblock("t", {});
    expect((await world.service.claimNext({ agentId: "b" })).task?.taskId).toBe("t");
  });

  it("is given back when a person ended the agent, and taken by whoever asks next", async () => {
    const world = await atWork();
    world.reports("a", 1, exited({ signal: "SIGINT", cause: "person" }));
    expect(world.tell("t")).toBe("pending agent-stopped");
    expect((await world.service.claimNext({ agentId: "b" })).task?.claim).toMatchObject({ agentId: "b", number: 2 });
  });

  it("is given back when a person had the agent stopped", async () => {
    const world = await atWork();
    world.orders("a", "stop");
    await world.handsAnswer("save-work", { kind: "work", work: { kind: "nothing-to-save" } });
    expect(world.tell("t")).toBe("claimed claimed a#1");
    await world.handsAnswer("stop-agent", { kind: "stop", stop: stopped });
    world.reports("a", 1, exited({ signal: "SIGTERM", cause: "stopped" }));
    expect(world.tell("t")).toBe("pending agent-stopped");
    expect(types(world, "TASK_RELEASED")).toEqual([]);
    await world.saved();
    expect(types(world, "TASK_RELEASED")).toEqual(["TASK_RELEASED"]);
  });

  it("is kept for an agent that crashed, and given to its next life with a new claim", async () => {
    const world = await atWork();
    world.reports("a", 1, exited({ code: 1 }));
    expect(world.tell("t")).toBe("recovering being-recovered");
    await expect(world.service.claim("t", { agentId: "b" })).rejects.toMatchObject({ code: "task-refused" });
    expect((await world.service.claimNext({ agentId: "b" })).task).toBeNull();
    await world.handsAnswer("restart-agent", { kind: "restarted", incarnation: 2, recovery: null });
    world.holds({ agentId: "a", taskId: "t", incarnation: 2 });
    expect(world.tell("t")).toBe("running recovered a#2");
    await expect(world.service.complete("t", { agentId: "a", claim: 1 })).rejects.toThrow("claim-lost");
    expect((await world.service.complete("t", { agentId: "a", claim: 2 })).status).toBe("completed");
  });

  it("waits for a person when its agent crashed too often, and is not brought back for ever", async () => {
    const world = await atWork();
    for (const incarnation of [2, 3, 4]) {
      await crash(world, incarnation);
      expect(world.service.show("t")).toMatchObject({ status: "running", recoveries: incarnation - 1 });
    }
    world.reports("a", 1, exited({ code: 1 }));
    world.pass(minutes(30));
    expect(world.tell("t")).toBe("blocked recoveries-exhausted");
    await expect(world.service.claim("t", { agentId: "b" })).rejects.toThrow("rouse tasks unblock t");
  });

  it("is given back when an agent that only beats is gone for good", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    world.beats({ agentId: "a", status: "RUNNING", taskId: "t" });
    world.beats({ agentId: "b", status: "RUNNING" });
    await world.service.claim("t", { agentId: "a" });
    for (let minute = 0; minute < 120; minute++) {
      world.beats({ agentId: "b", status: "RUNNING", progressIndicator: String(minute) });
      world.pass(minutes(1));
    }
    expect(world.mustWatch("a").record.health.state).toBe("UNRESPONSIVE");
    expect(world.tell("t")).toMatch(/^pending agent-gone/);
  });

  it("stays with an agent that fell silent and beats again, also when it is a person's matter by then", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    let calls = 1;
    const beatsFor = (duration: number, ...agentIds: string[]): void => {
      for (let minute = 0; minute < duration; minute++) {
        world.beats({ agentId: "b", status: "RUNNING", progressIndicator: String(calls++) });
        for (const agentId of agentIds) world.beats({ agentId, status: "RUNNING", toolCallCount: 2 });
        world.pass(minutes(1));
      }
    };
    world.beats({ agentId: "a", status: "RUNNING", toolCallCount: 1 });
    await world.service.claim("t", { agentId: "a" });
    // It stands still, falls silent, and stands still again.
    beatsFor(40, "a");
    beatsFor(20);
    expect(world.mustWatch("a").record.health.state).toBe("UNRESPONSIVE");
    beatsFor(30, "a");
    const { health, ladder } = world.mustWatch("a").record;
    expect([health.state, ladder.handedOver?.illness]).toEqual(["STUCK", "UNRESPONSIVE"]);
    expect(world.tell("t")).toContain("a#1");
    beatsFor(20);
    expect(world.tell("t")).toMatch(/^pending agent-gone/);
  });

  it("is given back when an agent that a person has in hand for something else falls silent", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    const pass = (duration: number, isHeard: boolean): void => {
      for (let minute = 0; minute < duration; minute++) {
        world.beats({ agentId: "b", status: "RUNNING", progressIndicator: `${duration} ${minute}` });
        if (isHeard) world.beats({ agentId: "a", status: "RUNNING", toolCallCount: 2 });
        world.pass(minutes(1));
      }
    };
    world.beats({ agentId: "a", status: "RUNNING", toolCallCount: 1 });
    await world.service.claim("t", { agentId: "a" });
    pass(150, true);
    expect(world.mustWatch("a").record.ladder.handedOver?.illness).toBe("STUCK");
    expect(world.tell("t")).toContain("a#1");
    pass(20, false);
    expect(world.tell("t")).toMatch(/^pending agent-gone/);
  });

  it("is given back like all others of an agent that is gone for good, and not to it again", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a", status: "RUNNING" });
    world.beats({ agentId: "b", status: "RUNNING" });
    for (const taskId of ["t1", "t2", "done"]) {
      await world.service.create({ taskId });
      await world.service.claim(taskId, { agentId: "a" });
    }
    // From here on it is taken to work on the first of the others.
    await world.service.complete("done", { agentId: "a" });
    for (let minute = 0; minute < 120; minute++) {
      world.beats({ agentId: "b", status: "RUNNING", progressIndicator: String(minute) });
      world.pass(minutes(1));
    }
    expect(world.mustWatch("a").record.health.state).toBe("UNRESPONSIVE");
    for (const taskId of ["t1", "t2"]) expect(world.tell(taskId)).toMatch(/^pending agent-gone/);
  });

  it("is no longer kept for it when a person had meant it for that agent", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    await world.service.create({ taskId: "t" });
    await world.service.reassign("t", { to: "a" });
    expect((await world.service.claimNext({ agentId: "b" })).task).toBeNull();
    world.reports("a", 1, exited({ code: 0 }));
    expect((await world.service.claimNext({ agentId: "b" })).task?.taskId).toBe("t");
  });
});

describe("a task on an agent's hook", () => {
  const asIfUnhooked = (world: TaskWorld, agentId: string): void => {
    const { record } = world.mustWatch(agentId);
    world.engine.post("task", null, {
      kind: "agent-turned",
      before: { ...record, task: { ...record.task, id: null } },
      after: record,
    });
    world.engine.deliver(world.readClock());
  };

  it("is that agent's, whether the task or the agent was there first", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "first" });
    world.beats({ agentId: "a", taskId: "first" });
    asIfUnhooked(world, "a");
    expect(world.tell("first")).toBe("claimed claimed a#1");
    world.beats({ agentId: "b", taskId: "second" });
    asIfUnhooked(world, "b");
    await world.service.create({ taskId: "second" });
    expect(world.tell("second")).toBe("claimed claimed b#1");
  });

  it("is not given to an agent that has gone over to something else, or has finished, before it was announced", async () => {
    const world = await taskWorld();
    for (const agentId of ["a", "b"]) {
      world.beats({ agentId, taskId: `of-${agentId}` });
      asIfUnhooked(world, agentId);
    }
    world.beats({ agentId: "a", taskId: "else" });
    world.beats({ agentId: "b", taskId: "of-b", status: "FINISHED" });
    await world.service.create({ taskId: "of-a" });
    await world.service.create({ taskId: "of-b" });
    expect([world.status("of-a"), world.status("of-b")]).toEqual(["pending", "pending"]);
  });

  it("is known to be on it after a restart of the monitor, too", async () => {
    const disk = createMemoryDisk();
    const before = await taskWorld({ disk });
    before.beats({ agentId: "a", taskId: "t" });
    await before.saved();
    disk.crash();
    const after = await taskWorld({ disk, at: minutes(1) });
    await after.service.create({ taskId: "t" });
    expect(after.tell("t")).toBe("claimed claimed a#1");
  });

  it("comes before any other when its agent asks for work: it may not have heard that it has it", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "one" });
    await world.service.create({ taskId: "two", priority: "critical" });
    await world.service.claim("one", { agentId: "a" });
    const ask = async () => (await world.service.claimNext({ agentId: "a" })).task;
    expect(await ask()).toMatchObject({ taskId: "one", claim: { number: 1 } });
    await world.service.update("one", { agentId: "a", note: "begun" });
    expect(await ask()).toMatchObject({ taskId: "two" });
  });
});

describe("clocks", () => {
  it("stalls after 30 min without a word, is escalated 10 min later, and is well again with the next word", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    await world.service.claim("t", { agentId: "a" });
    world.pass(minutes(31));
    expect(world.tell("t")).toBe("claimed claimed a#1 stalled");
    world.pass(minutes(10));
    expect(world.tell("t")).toBe("claimed claimed a#1 stalled escalated");
    await world.service.update("t", { agentId: "a" });
    expect(world.tell("t")).toBe("running started a#1");
    expect(types(world, "TASK_").slice(-3)).toEqual(["TASK_STALLED", "TASK_ESCALATED", "TASK_CHANGED"]);
    expect(world.actions.map(({ kind }) => kind)).toEqual([
      "raise-alert",
      "resolve-alert",
      "raise-alert",
      "resolve-alert",
    ]);
  });

  it("counts what its agent does as an update, as of when it did it", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    /** It goes on beating, which is no work. */
    const stays = (progressIndicator: string, howLong: number) => {
      for (let minute = 0; minute < howLong; minute++) {
        world.beats({ agentId: "a", status: "RUNNING", taskId: "t", progressIndicator });
        world.pass(minutes(1));
      }
    };
    stays("0", 1);
    await world.service.claim("t", { agentId: "a" });
    stays("0", 10);
    stays("1", 29);
    expect(world.service.show("t").flags).toEqual([]);
    stays("1", 2);
    expect(world.service.show("t").flags).toEqual(["stalled"]);
    await world.saved();
    expect(world.events.find(({ type }) => type === "TASK_STALLED")?.payload).toMatchObject({
      withoutUpdateSeconds: 1800,
    });
  });

  it("shows within a second that its agent has begun, and that a stall is over", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    const beats = (progressIndicator: string, then = seconds(1)) => {
      world.beats({ agentId: "a", status: "RUNNING", taskId: "t", progressIndicator });
      world.pass(then);
    };
    beats("1");
    await world.service.claim("t", { agentId: "a" });
    beats("1");
    expect(world.tell("t")).toBe("claimed claimed a#1");
    beats("2");
    expect(world.tell("t")).toBe("running started a#1");
    for (let minute = 0; minute < 31; minute++) beats("2", minutes(1));
    expect(world.tell("t")).toBe("running started a#1 stalled");
    beats("3");
    expect(world.tell("t")).toBe("running started a#1");
  });

  it("shows so after a restart of the monitor, too", async () => {
    const disk = createMemoryDisk();
    const before = await taskWorld({ disk });
    await before.service.create({ taskId: "t" });
    before.beats({ agentId: "a", status: "RUNNING", taskId: "t", progressIndicator: "1" });
    await before.service.claim("t", { agentId: "a" });
    disk.crash();
    const after = await taskWorld({ disk, at: minutes(1) });
    after.beats({ agentId: "a", status: "RUNNING", taskId: "t", progressIndicator: "2" });
    after.pass(seconds(1));
    expect(after.tell("t")).toBe("running started a#1");
  });

  it("takes what its agent does for another task for no work", async () => {
    const world = await taskWorld();
    for (const taskId of ["t", "else"]) await world.service.create({ taskId });
    for (const progressIndicator of ["1", "2"]) {
      world.beats({ agentId: "a", status: "RUNNING", taskId: "else", progressIndicator });
      await world.service.claim("t", { agentId: "a" });
      world.pass(seconds(1));
    }
    expect([world.status("t"), world.status("else")]).toEqual(["claimed", "running"]);
  });

  it("takes what its agent did before it came to this task for no work on it, so that its stall is told once", async () => {
    const world = await taskWorld();
    for (const taskId of ["first", "second"]) {
      await world.service.create({ taskId });
      await world.service.claim(taskId, { agentId: "a" });
    }
    const beats = (progressIndicator: string, howLong: number) => {
      for (let minute = 0; minute < howLong; minute++) {
        world.beats({ agentId: "a", status: "RUNNING", progressIndicator });
        world.pass(minutes(1));
      }
    };
    beats("0", 1);
    beats("1", 31);
    expect(world.tell("second")).toBe("claimed claimed a#1 stalled");
    await world.service.complete("first", { agentId: "a" });
    beats("1", 2);
    expect(world.tell("second")).toBe("claimed claimed a#1 stalled");
    beats("2", 1);
    expect(world.tell("second")).toBe("running started a#1");
    await world.saved();
    const stalls = world.events.filter(({ type, payload }) => type === "TASK_STALLED" && payload.taskId === "second");
    expect(stalls).toHaveLength(1);
  });

  it("go on after a restart, with the time nobody watched not held against the task", async () => {
    const disk = createMemoryDisk();
    const before = await taskWorld({ disk });
    await before.service.create({ taskId: "t", timeoutMinutes: 60, priority: "critical" });
    await before.service.claim("t", { agentId: "a" });
    before.pass(minutes(20));
    disk.crash();
    const after = await taskWorld({ disk, at: minutes(50) });
    after.doubt.openGap("restart", 20 * 60_000, 50 * 60_000);
    expect(after.service.show("t").timeoutAt).toBe("2026-02-05T10:30:00.000Z");
    after.pass(minutes(39));
    expect(after.tell("t")).toBe("claimed claimed a#1 stalled");
    after.pass(minutes(1));
    expect(after.tell("t")).toBe("pending timed-out timed-out");
    expect(after.told).toEqual(["a timed-out"]);
  });

  it("remember across a restart what nobody saw before it", async () => {
    const disk = createMemoryDisk();
    const before = await taskWorld({ disk });
    await before.service.create({ taskId: "t", timeoutMinutes: 60 });
    await before.service.claim("t", { agentId: "a" });
    before.pass(minutes(20));
    before.doubt.openGap("store-outage", 0 + minutes(5), 0 + minutes(20));
    before.pass(seconds(1));
    await before.saved();
    disk.crash();
    const after = await taskWorld({ disk, at: minutes(50) });
    after.doubt.openGap("restart", 0 + minutes(20), 0 + minutes(50));
    expect(after.service.show("t")).toMatchObject({
      startedAt: "2026-02-05T09:00:00.000Z",
      timeoutAt: "2026-02-05T10:45:00.000Z",
    });
  });
});

describe("a task whose agent a person brings back", () => {
  async function brings(world: TaskWorld, life: number): Promise<void> {
    world.orders("a", "restart");
    await world.handsAnswer("restart-agent", { kind: "restarted", incarnation: life, recovery: null });
    world.holds({ agentId: "a", taskId: "t", incarnation: life, pid: 4242 + life });
    await world.saved();
  }

  it("stays at work however often they do, and is taken up again when it had been given up", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    world.holds({ agentId: "a", taskId: "t" });
    for (let life = 1; life <= 6; life++) {
      world.reports("a", 1, exited({ code: 0, cause: "person" }));
      await brings(world, life + 1);
      expect(world.status("t")).toBe("running");
    }
    expect(world.tasks.find("t")?.recoveries).toBe(0);
  });
});

describe("an agent that is over", () => {
  /** Of an agent that Rouse started: `a`, which has ended by itself, with task `t` to be had. */
  async function ended(code: number): Promise<TaskWorld> {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    world.reports("a", 1, exited({ code }));
    await world.service.create({ taskId: "t" });
    return world;
  }
  const over = expect.objectContaining({ code: "task-refused", message: expect.stringContaining("(agent-over)") });

  it("gets no task with the token of the life that ended, nor without one; its next life does, and whoever was never heard of", async () => {
    const world = await ended(0);
    for (const life of [1, null]) {
      await expect(world.service.claim("t", { agentId: "a" }, life)).rejects.toEqual(over);
      await expect(world.service.claimNext({ agentId: "a" }, life)).rejects.toEqual(over);
    }
    await expect(world.service.claim("t", { agentId: "a" })).rejects.toThrow("before it is started again");
    expect((await world.service.claim("t", { agentId: "a" }, 2)).claim?.agentId).toBe("a");
    await world.service.create({ taskId: "u" });
    expect((await world.service.claim("u", { agentId: "never-heard-of" })).status).toBe("claimed");
  });

  it("because it said that it has finished gets one as soon as it goes on", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    world.beats({ agentId: "a", status: "FINISHED" });
    await expect(world.service.claim("t", { agentId: "a" })).rejects.toEqual(over);
    await expect(world.service.reassign("t", { to: "a" })).rejects.toEqual(over);
    world.beats({ agentId: "a", status: "RUNNING" });
    expect((await world.service.claim("t", { agentId: "a" })).status).toBe("claimed");
  });

  it("is not waited for: nothing can be meant for it, and that was tried is on record", async () => {
    const world = await ended(0);
    await expect(world.service.reassign("t", { to: "a", actor: "ann" })).rejects.toEqual(over);
    await expect(world.service.reassign("t", { to: "a" })).rejects.toThrow("a is not there any more");
    expect((await world.service.claimNext({ agentId: "b" })).task?.taskId).toBe("t");
    const trail = await world.store.readAudit({ limit: 10 });
    expect(trail.filter(({ reason }) => reason === "agent-over")).toHaveLength(2);
    await world.service.complete("t", { agentId: "b" });
    await expect(world.service.reassign("t", { to: "a" })).rejects.toThrow("(over)");
  });

  it("and is being started again may have something kept for it, but its last life gets nothing more", async () => {
    const world = await ended(1);
    await world.saved();
    expect(world.actions.map(({ kind }) => kind)).toContain("restart-agent");
    expect((await world.service.reassign("t", { to: "a" })).reservedFor).toBe("a");
    await expect(world.service.claim("t", { agentId: "a" }, 1)).rejects.toEqual(over);
    await world.handsAnswer("restart-agent", { kind: "restarted", incarnation: 2, recovery: null });
    world.holds({ agentId: "a", incarnation: 2 });
    expect((await world.service.claim("t", { agentId: "a" }, 2)).status).toBe("claimed");
  });

  it("may be meant in its absence by somebody who does not say which life, while it is being started again", async () => {
    const world = await ended(1);
    expect((await world.service.claim("t", { agentId: "a" })).claim?.agentId).toBe("a");
  });

  it("as far as anybody can tell, because it is silent and a person's matter, has nothing kept for it, and is there when it speaks", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a", status: "RUNNING" });
    for (let minute = 0; minute < 120; minute++) {
      world.beats({ agentId: "b", status: "RUNNING", progressIndicator: String(minute) });
      world.pass(minutes(1));
    }
    expect(world.mustWatch("a").record.health.state).toBe("UNRESPONSIVE");
    await world.service.create({ taskId: "t" });
    await expect(world.service.reassign("t", { to: "a" })).rejects.toEqual(over);
    expect((await world.service.claim("t", { agentId: "a" })).status).toBe("claimed");
  });

  it("is not one that wrote its completion marker and still sits in its terminal", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a" });
    const watched = world.mustWatch("a");
    watched.record = { ...watched.record, work: { ...watched.record.work, activity: { kind: "FINISHED", since: 0 } } };
    await world.service.create({ taskId: "t" });
    await world.service.reassign("t", { to: "a" });
    expect((await world.service.claim("t", { agentId: "a" }, 1)).status).toBe("claimed");
  });
});

describe("what is remembered", () => {
  it("is found under the agent it was about, also when that agent lost the task with it", async () => {
    const world = await atWork();
    world.reports("a", 1, exited({ signal: "SIGINT", cause: "person" }));
    await world.saved();
    const kept = await world.store.readEvents({ agentId: "a", types: ["TASK_RELEASED", "TASK_CHANGED"], limit: 10 });
    expect(kept.map(({ type }) => type)).toEqual(["TASK_CHANGED", "TASK_RELEASED", "TASK_CHANGED"]);
  });

  it("is never so old that a task waits for it in vain", async () => {
    const world = await taskWorld();
    const overAt = async (taskId: string) => {
      await world.saved();
      return (
        (await world.store.resume()).machines.find(({ machine, id }) => machine === "task" && id === taskId)?.overAt ??
        null
      );
    };
    const finish = async (taskId: string) => {
      await world.service.claim(taskId, { agentId: "a" });
      await world.service.complete(taskId, { agentId: "a" });
    };
    await world.service.create({ taskId: "first" });
    await world.service.create({ taskId: "second", dependsOn: ["first"] });
    await finish("first");
    expect(await overAt("first")).toBeNull();
    world.pass(seconds(5));
    world.tasks.forgetOld({ ...world.readClock(), now: 40 * 86_400_000 }, days(30));
    await finish("second");
    expect(await overAt("first")).not.toBeNull();
    expect(await overAt("second")).not.toBeNull();
    await world.service.create({ taskId: "third", dependsOn: ["first"] });
    expect(await overAt("first")).toBeNull();
    await world.service.cancel("third", {});
    world.tasks.forgetOld({ ...world.readClock(), now: 40 * 86_400_000 }, days(30));
    expect(world.tasks.all()).toEqual([]);
  });

  it.each(["fail", "cancel"] as const)(
    "what a task depended on, as long as it can be tried again (%s)",
    async (how) => {
      const disk = createMemoryDisk();
      const world = await taskWorld({ disk });
      const at = (day: number) => ({ now: 0 + days(day), time: dawn + days(day) });
      await world.service.create({ taskId: "first" });
      await world.service.create({ taskId: "t", dependsOn: ["first"] });
      await world.service.claim("first", { agentId: "a" });
      await world.service.complete("first", { agentId: "a" });
      world.tasks.claim("t", "a", at(31));
      if (how === "fail") world.tasks.takeReport("t", { kind: "fail", agentId: "a" }, at(31));
      else world.tasks.order("t", { kind: "cancel", actor: "ann", reason: "" }, at(31));
      await world.saved();
      await world.store.tidy({ now: dawn + days(32), beats: days(1), history: days(30) });
      world.tasks.forgetOld(at(32), days(30));
      disk.crash();
      const later = await taskWorld({ disk, at: days(33) });
      await later.service.retry("t", {});
      expect((await later.service.claim("t", { agentId: "b" })).status).toBe("claimed");
    },
  );

  it("nothing for ever: once nobody can wait for it any more, the store forgets it as well", async () => {
    const disk = createMemoryDisk();
    const world = await taskWorld({ disk });
    await world.service.create({ taskId: "first" });
    await world.service.create({ taskId: "t", dependsOn: ["first"] });
    await world.service.claim("first", { agentId: "a" });
    await world.service.complete("first", { agentId: "a" });
    await world.service.cancel("t", {});
    const left = async () =>
      (await world.store.resume()).machines.flatMap(({ machine, id }) => (machine === "task" ? id : []));
    for (const day of [31, 31.1]) {
      await world.saved();
      await world.store.tidy({ now: dawn + days(day), beats: days(1), history: days(30) });
      world.tasks.forgetOld({ now: 0 + days(day), time: dawn + days(day) }, days(30));
      expect(world.tasks.all()).toEqual([]);
    }
    expect(await left()).toEqual([]);
  });

  it("a task that failed can be tried again, and who held it before has no say in it", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    await world.service.create({ taskId: "after", dependsOn: ["t"] });
    await world.service.claim("t", { agentId: "a" });
    await world.service.fail("t", { agentId: "a", claim: 1, note: "no luck" });
    expect(world.service.show("t")).toMatchObject({ status: "failed", note: "no luck" });
    expect(await world.service.retry("t", { actor: "ann" })).toMatchObject({ status: "pending", note: null });
    expect((await world.service.claim("t", { agentId: "a" })).claim?.number).toBe(2);
    await expect(world.service.complete("t", { agentId: "a", claim: 1 })).rejects.toThrow("claim-lost");
    await world.service.complete("t", { agentId: "a", claim: 2 });
    expect((await world.service.claim("after", { agentId: "a" })).status).toBe("claimed");
    await expect(world.service.retry("after", {})).rejects.toThrow("exists");
    await expect(world.service.retry("t", {})).rejects.toThrow("over");
  });
});
