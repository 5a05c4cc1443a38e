import { minutes } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { exited, taskWorld } from "./task-world.test-support.ts";

describe("a task that an agent was started for and cannot have yet", () => {
  it("is that agent's as soon as it is ready, before anybody else can have it", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "first" });
    await world.service.create({ taskId: "t", dependsOn: ["first"] });
    world.holds({ agentId: "a", taskId: "t" });
    await world.service.claim("first", { agentId: "b" });
    expect(world.tell("t")).toBe("pending created");
    await world.service.complete("first", { agentId: "b" });
    expect(world.tell("t")).toBe("claimed claimed a#1");
    expect((await world.service.claimNext({ agentId: "b" })).task).toBeNull();
  });

  it("is that agent's when whoever has it gives it back, or it is tried again", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    await world.service.claim("t", { agentId: "b" });
    world.holds({ agentId: "a", taskId: "t" });
    expect(world.tell("t")).toBe("claimed claimed b#1");
    await world.service.release("t", { agentId: "b" });
    expect(world.tell("t")).toBe("claimed claimed a#2");
    world.holds({ agentId: "c", taskId: "t" });
    await world.service.cancel("t", {});
    await world.service.retry("t", {});
    expect(world.tell("t")).toBe("claimed claimed c#3");
  });

  it("is the first one's of several who name it before it is announced, and the next one's after that", async () => {
    const world = await taskWorld();
    for (const agentId of ["a", "b", "c"]) world.holds({ agentId, taskId: "t" });
    world.reports("b", 1, exited({ code: 0 }));
    await world.service.create({ taskId: "t" });
    expect(world.tell("t")).toBe("claimed claimed a#1");
    await world.service.release("t", { agentId: "a" });
    expect(world.tell("t")).toBe("claimed claimed c#2");
  });

  it("is not forced on an agent that lost it or let it go", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t", timeoutMinutes: 20 });
    world.holds({ agentId: "a", taskId: "t" });
    world.pass(minutes(20));
    expect(world.tell("t")).toBe("pending timed-out timed-out");
    await world.service.claim("t", { agentId: "b" });
    await world.service.release("t", { agentId: "b" });
    expect(world.tell("t")).toBe("pending released-by-agent");
    world.holds({ agentId: "c", taskId: "t" });
    await world.service.reassign("t", {});
    expect(world.tell("t")).toBe("pending reassigned-by-person");
  });

  it("is not given to an agent that is silent by then", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    await world.service.claim("t", { agentId: "b" });
    world.beats({ agentId: "a", taskId: "t" });
    const watched = world.mustWatch("a");
    watched.record = {
      ...watched.record,
      health: { ...watched.record.health, ...{ ...watched.record.health, state: "UNRESPONSIVE" } },
    };
    await world.service.release("t", { agentId: "b" });
    expect(world.status("t")).toBe("pending");
  });

  it("is that agent's again in its next life, when nobody else has taken it", async () => {
    const world = await taskWorld();
    for (const taskId of ["t", "else"]) {
      await world.service.create({ taskId });
      world.holds({ agentId: `of-${taskId}`, taskId });
      world.reports(`of-${taskId}`, 1, exited({ signal: "SIGINT", cause: "person" }));
    }
    await world.service.claim("else", { agentId: "b" });
    for (const taskId of ["t", "else"]) world.holds({ agentId: `of-${taskId}`, taskId, incarnation: 2 });
    expect(world.tell("t")).toBe("claimed claimed of-t#2");
    expect(world.tell("else")).toBe("claimed claimed b#2");
    await world.service.release("else", { agentId: "b" });
    expect(world.tell("else")).toBe("pending released-by-agent");
  });

  it("is waited for after a restart of the monitor, too, and not by an agent that had it", async () => {
    const disk = createMemoryDisk();
    const before = await taskWorld({ disk });
    await before.service.create({ taskId: "first" });
    await before.service.create({ taskId: "t", dependsOn: ["first"] });
    before.holds({ agentId: "a", taskId: "t" });
    await before.saved();
    disk.crash();
    const after = await taskWorld({ disk, at: minutes(1) });
    await after.service.claim("first", { agentId: "b" });
    await after.service.complete("first", { agentId: "b" });
    expect(after.tell("t")).toBe("claimed claimed a#1");
    await after.service.reassign("t", {});
    disk.crash();
    const later = await taskWorld({ disk, at: minutes(2) });
    await later.service.claim("t", { agentId: "b" });
    await later.service.release("t", { agentId: "b" });
    expect(later.tell("t")).toBe("pending released-by-agent");
  });
});
