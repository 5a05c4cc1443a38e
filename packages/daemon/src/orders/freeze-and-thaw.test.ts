import { expect, it } from "vitest";
import { exited, taskWorld } from "../tasks/task-world.test-support.ts";
import { freezeAndThaw } from "./obey-people.ts";

it("what a freeze put off is done as soon as it is over", async () => {
  const world = await taskWorld();
  const { freeze, thaw } = freezeAndThaw(world);
  world.holds({ agentId: "a" });
  await freeze("ann", "a look at it");
  world.reports("a", 1, exited({ code: 1 }));
  await world.saved();
  expect(world.actions.map(({ kind }) => kind)).not.toContain("restart-agent");
  await thaw("ann", "seen enough");
  await world.saved();
  expect(world.actions.map(({ kind }) => kind)).toContain("restart-agent");
});

it("a freeze that was refused because the store is down does not come about later", async () => {
  const world = await taskWorld();
  world.storeBreaks();
  world.beats({ agentId: "a" });
  await expect(world.saved()).rejects.toMatchObject({ code: "store-unavailable" });
  await expect(freezeAndThaw(world).freeze("ann", "a look at it")).rejects.toMatchObject({ code: "store-unavailable" });
  const isBack = new Promise<void>((resolve) => world.afterCommits(resolve));
  world.storeMends();
  await isBack;
  await world.saved();
  expect(world.eventTypes()).not.toContain("MONITOR_FROZEN");
  expect(world.disk.marks.get("frozen") ?? null).toBeNull();
});
