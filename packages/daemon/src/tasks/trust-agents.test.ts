import { minutes } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { type TaskWorld, taskWorld } from "./task-world.test-support.ts";

const types = (world: TaskWorld, prefix: string): string[] =>
  world.eventTypes().filter((type) => type.startsWith(prefix));

describe("trust", () => {
  async function ends(world: TaskWorld, taskId: string, how: "complete" | "fail"): Promise<void> {
    await world.service.create({ taskId });
    await world.service.claim(taskId, { agentId: "a" });
    await world.service[how](taskId, { agentId: "a" });
  }

  it("is lost by failing, asked to be thought about, kept across a restart and given back by a person", async () => {
    const disk = createMemoryDisk();
    const world = await taskWorld({ disk });
    for (const n of [1, 2, 3]) await ends(world, `t${n}`, "fail");
    expect(world.told).toEqual(["a 3/3"]);
    await world.service.create({ taskId: "x" });
    await world.service.create({ taskId: "y" });
    await world.service.claim("x", { agentId: "a" });
    await expect(world.service.claim("y", { agentId: "a" })).rejects.toThrow("one at a time");
    await world.service.release("x", { agentId: "a" });
    for (const n of [4, 5, 6, 7, 8]) await ends(world, `t${n}`, "fail");
    disk.crash();
    const later = await taskWorld({ disk, at: minutes(1) });
    await expect(later.service.claimNext({ agentId: "a" })).rejects.toThrow("rouse tasks trust a");
    expect(await later.service.restoreAssignments("a", { actor: "ann" })).toEqual({ agentId: "a", standing: "normal" });
    expect((await later.service.claimNext({ agentId: "a" })).task?.taskId).toBe("x");
    expect(later.eventTypes()).toContain("ASSIGNMENTS_RESTORED");
  });

  it("is not lost or given back in silence: somebody is told each time, once, whenever Rouse is started anew", async () => {
    const disk = createMemoryDisk();
    const alerts = async (world: TaskWorld): Promise<string[]> => {
      await world.saved();
      return world.actions.map(({ kind, key }) => `${kind} ${key}`);
    };
    const first = await taskWorld({ disk });
    first.beats({ agentId: "a" });
    for (const n of [1, 2, 3, 4]) await ends(first, `t${n}`, "fail");
    expect(await alerts(first)).toEqual(["raise-alert assignments/a/few/1"]);
    disk.crash();
    const second = await taskWorld({ disk, at: minutes(1) });
    for (const n of [5, 6, 7, 8]) await ends(second, `t${n}`, "fail");
    expect(await alerts(second)).toEqual([
      "resolve-alert assignments/a/few/1/resolved",
      "raise-alert assignments/a/none/2",
    ]);
    expect(second.actions[1]).toMatchObject({ agentId: "a", severity: "critical" });
    expect(JSON.stringify(second.actions[1])).toContain("`rouse tasks trust a`");
    expect(types(second, "ALERT_")).toEqual(["ALERT_RESOLVED", "ALERT_RAISED"]);
    disk.crash();
    const third = await taskWorld({ disk, at: minutes(2) });
    for (const _ of [1, 2]) await third.service.restoreAssignments("a", { actor: "ann" });
    expect(await alerts(third)).toEqual(["resolve-alert assignments/a/none/2/resolved"]);
    disk.crash();
    const fourth = await taskWorld({ disk, at: minutes(3) });
    for (const n of [11, 12, 13]) await ends(fourth, `t${n}`, "fail");
    expect(await alerts(fourth)).toEqual(["raise-alert assignments/a/few/3"]);
  });

  it("that was lost before anybody was told of it can be given back, and lost again", async () => {
    const disk = createMemoryDisk();
    const before = await taskWorld({ disk });
    const saved = { agentId: "a", outcomes: ["failed", "failed", "failed"], since: 0, standing: "none" };
    before.commits.saveMachine("trust", "a", () => ({ record: JSON.stringify(saved), overAt: null }));
    await before.saved();
    disk.crash();
    const after = await taskWorld({ disk, at: minutes(1) });
    await after.service.restoreAssignments("a", {});
    for (const n of [1, 2, 3]) await ends(after, `t${n}`, "fail");
    await after.saved();
    expect(after.actions.map(({ key }) => key)).toEqual(["assignments/a/few/1"]);
  });

  it("is not asked of an agent in quarantine: it gets nothing new and may end what it has", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a", status: "RUNNING" });
    await world.service.create({ taskId: "has" });
    await world.service.create({ taskId: "new" });
    await world.service.claim("has", { agentId: "a" });
    const watched = world.mustWatch("a");
    watched.record = {
      ...watched.record,
      health: { ...watched.record.health, ...{ ...watched.record.health, state: "QUARANTINED" } },
    };
    await expect(world.service.claim("new", { agentId: "a" })).rejects.toThrow("quarantined");
    expect((await world.service.claim("has", { agentId: "a" })).claim?.number).toBe(1);
    expect((await world.service.complete("has", { agentId: "a" })).status).toBe("completed");
  });
});
