import { afterEach, describe, expect, it, vi } from "vitest";
import type { World } from "../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../holder/src/world-of-each.test-support.ts";
import { keepDown } from "./keep-down.ts";
import { readExitFile } from "./read-holder-files.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: World;
worldOfEach((fresh) => {
  world = fresh;
});
afterEach(() => world.remove());

describe("an agent that is down while no monitor is there", () => {
  it.each([
    ["failed and may be started again", "exit 3", { when: "on-failure", max: 3 }, true],
    ["is to run always", "exit 0", { when: "always" }, true],
    ["is to run once", "exit 3", { when: "no" }, false],
    ["finished", "exit 0", { when: "on-failure", max: 3 }, false],
  ] as const)("and %s: whether a person's word changes what follows", async (_, command, restart, isKept) => {
    await world.ended(await world.start(world.spec(["sh", "-c", command], { restart })));
    expect(await keepDown(world.home, "a1")).toBe(isKept);
    expect(readExitFile(world.home, "a1")?.exit.cause).toBe(isKept ? "stopped" : "by-itself");
    expect(await keepDown(world.home, "a1")).toBe(false);
    const isNoted = readExitFile(world.home, "a1")?.keptDownAt !== undefined;
    expect(isNoted).toBe(restart.when !== "no");
  });
});
