import { seconds } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { type TaskWorld, taskWorld } from "./task-world.test-support.ts";

describe("several critical tasks that wait for a person", () => {
  const blocked = (world: TaskWorld, agentId: string) =>
    world.doubt.about(world.mustWatch(agentId).record, 0).criticalBlocked;
  const block = (world: TaskWorld, taskId: string, agentId: string) =>
    world.service.update(taskId, { agentId, status: "blocked" });

  /** a and b work on critical tasks of their own, c on another. */
  async function threeAtWork(disk = createMemoryDisk()): Promise<TaskWorld> {
    const world = await taskWorld({ disk });
    const work = [
      ["a", "x", "critical"],
      ["b", "y", "critical"],
      ["c", "z", "high"],
    ] as const;
    for (const [agentId, taskId, priority] of work) {
      await world.service.create({ taskId, priority });
      world.beats({ agentId, taskId, status: "RUNNING" });
      await world.service.claim(taskId, { agentId });
    }
    return world;
  }

  it("count for those that worked on them, and for nobody else", async () => {
    const disk = createMemoryDisk();
    const world = await threeAtWork(disk);
    await block(world, "x", "a");
    await block(world, "y", "b");
    await block(world, "z", "c");
    expect(["a", "b", "c"].map((agentId) => blocked(world, agentId))).toEqual([2, 2, 0]);
    await world.saved();
    await world.store.close();
    const later = await taskWorld({ disk });
    expect(["a", "b", "c"].map((agentId) => blocked(later, agentId))).toEqual([2, 2, 0]);
    later.beats({ agentId: "a", taskId: "another", status: "RUNNING", sequenceNumber: 2 });
    expect(["a", "b"].map((agentId) => blocked(later, agentId))).toEqual([0, 2]);
    await later.service.unblock("x", {});
    expect(blocked(later, "b")).toBe(1);
    await later.service.cancel("y", {});
    expect(blocked(later, "b")).toBe(0);
  });

  it("are none that a person blocked: they know of those", async () => {
    const world = await threeAtWork();
    await world.service.block("x", {});
    await block(world, "y", "b");
    expect(["a", "b"].map((agentId) => blocked(world, agentId))).toEqual([0, 1]);
    await world.service.block("y", {});
    expect(blocked(world, "b")).toBe(0);
  });

  it("are told as SEV-1 when the second one blocks, and what is asked about their agents is SEV-1 at once", async () => {
    const world = await threeAtWork();
    for (const agentId of ["a", "c"])
      world.agents.take(world.mustWatch(agentId), { kind: "escalation-ordered", actor: "ann" }, world.readClock());
    const severityOf = (agentId: string) => world.mustWatch(agentId).record.ladder.incident?.severity;
    await block(world, "x", "a");
    expect(["a", "c"].map(severityOf)).toEqual(["SEV-3", "SEV-3"]);
    await block(world, "y", "b");
    world.pass(seconds(1));
    expect(["a", "c"].map(severityOf)).toEqual(["SEV-1", "SEV-3"]);
    await world.saved();
    const summaries = world.actions.flatMap((action) => (action.kind === "raise-alert" ? [action.summary] : []));
    expect(summaries).toEqual([
      "task x needs a person: agent-blocked",
      "task y needs a person: agent-blocked",
      "SEV-1: 2 critical tasks need a person, the last of them task y: agent-blocked",
    ]);
    const raised = await world.store.readEvents({ types: ["ESCALATION_RAISED"], limit: 10 });
    expect(raised.map(({ payload }) => payload)).toMatchObject([{ escalation: "a.1", criticalBlocked: 2 }]);
  });
});
