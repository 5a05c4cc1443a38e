import { minutes } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { type TaskWorld, taskWorld } from "./task-world.test-support.ts";

/** A task of its own that an agent ends. */
async function ends(world: TaskWorld, agentId: string, how: "complete" | "fail"): Promise<void> {
  const taskId = `${agentId}-${world.tasks.all().length}`;
  await world.service.create({ taskId });
  await world.service.claim(taskId, { agentId });
  await world.service[how](taskId, { agentId });
}

describe("settings", () => {
  it("of whoever has the task count, and those of the task alone when nobody has it", async () => {
    const config = `
preset: default
agents:
  slow: { tasks: { task_stalled_after_minutes: 240 } }
  fast: { tasks: { task_stalled_after_minutes: 5 } }
tasks:
  quiet: { tasks: { task_stalled_after_minutes: 60 } }
`;
    const world = await taskWorld({ config });
    for (const [taskId, agentId] of [
      ["one", "slow"],
      ["two", "fast"],
      ["three", "any"],
      ["quiet", "any"],
    ] as const) {
      await world.service.create({ taskId });
      await world.service.claim(taskId, { agentId });
    }
    await world.service.create({ taskId: "nobodys" });
    const flagged = () => world.service.list({ limit: 9 }).tasks.filter(({ flags }) => flags.length > 0);
    const names = () => flagged().map(({ taskId }) => taskId);
    world.pass(minutes(6));
    expect(names()).toEqual(["two"]);
    world.pass(minutes(25));
    expect(names()).toEqual(["two", "three", "nobodys"]);
    world.pass(minutes(30));
    expect(names()).toEqual(["two", "three", "quiet", "nobodys"]);
  });

  it("of the task itself count, whichever task its agent speaks of", async () => {
    const settings = "preset: default\ntasks:\n  else: { tasks: { task_stalled_after_minutes: 240 } }\n";
    const world = await taskWorld({ config: settings });
    world.beats({ agentId: "a", taskId: "else" });
    await world.service.create({ taskId: "t" });
    await world.service.claim("t", { agentId: "a" });
    for (let minute = 0; minute < 31; minute++) {
      world.beats({ agentId: "a", taskId: "else" });
      world.pass(minutes(1));
    }
    expect(world.tell("t")).toBe("claimed claimed a#1 stalled");
  });

  it("let an agent fail as often as is expected of it", async () => {
    const world = await taskWorld({
      config: "preset: default\nagents:\n  a: { tasks: { agent_high_error_rate: 0.9 } }\n",
    });
    for (const how of ["complete", "fail", "fail", "fail"] as const) await ends(world, "a", how);
    expect(world.tasks.standingOf("a")?.standing).toBe("normal");
    for (const how of ["complete", "fail", "fail", "fail"] as const) await ends(world, "b", how);
    expect(world.tasks.standingOf("b")?.standing).toBe("few");
  });
});

describe("a person who has Rouse only observe", () => {
  const observe = "preset: default\nhealth_monitoring:\n  mode: observe\n";

  it("is told that a task is late, once, and finds it where it was", async () => {
    const world = await taskWorld({ config: observe });
    await world.service.create({ taskId: "t", timeoutMinutes: 10, onTimeout: "cancel" });
    await world.service.claim("t", { agentId: "a" });
    world.pass(minutes(60));
    expect(world.tell("t")).toBe("claimed claimed a#1 timed-out");
    await world.saved();
    expect(world.actions.map(({ kind }) => kind)).toEqual(["raise-alert"]);
    expect(world.told).toEqual([]);
  });

  it("has no agent disabled, however much it fails", async () => {
    const world = await taskWorld({ config: observe });
    for (let n = 0; n < 12; n++) await ends(world, "a", "fail");
    expect(world.tasks.standingOf("a")).toMatchObject({ standing: "normal" });
    await world.saved();
    expect(world.eventTypes().filter((type) => type.startsWith("ASSIGNMENTS_"))).toEqual([]);
  });

  it("has all agents work again that were disabled before", async () => {
    const disk = createMemoryDisk();
    const acting = await taskWorld({ disk });
    for (let n = 0; n < 8; n++) await ends(acting, "a", "fail");
    await acting.service.create({ taskId: "t" });
    await expect(acting.service.claimNext({ agentId: "a" })).rejects.toThrow("rouse tasks trust a");
    disk.crash();
    const observing = await taskWorld({ disk, config: observe, at: minutes(1) });
    expect((await observing.service.claimNext({ agentId: "a" })).task?.taskId).toBe("t");
  });

  it("has no such task taken from an agent that is only silent", async () => {
    const world = await taskWorld({ config: "preset: default\ntasks:\n  observed: { mode: observe }\n" });
    for (const taskId of ["own", "observed"]) await world.service.create({ taskId });
    world.beats({ agentId: "a", status: "RUNNING", taskId: "own" });
    await world.service.claim("observed", { agentId: "a" });
    for (let minute = 0; minute < 120; minute++) {
      world.beats({ agentId: "b", status: "RUNNING", progressIndicator: String(minute) });
      world.pass(minutes(1));
    }
    expect(world.mustWatch("a").record.health.state).toBe("UNRESPONSIVE");
    expect(world.tell("own")).toMatch(/^pending agent-gone/);
    expect(world.tell("observed")).toMatch(/^claimed claimed a#1/);
  });
});
