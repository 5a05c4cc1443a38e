import { describe, expect, it } from "vitest";
import { anyHold, anyReport, exited, taskWorld } from "../tasks/task-world.test-support.ts";
import { hearHolders } from "./hear-holders.ts";

const settings = { patterns: [], completionMarker: "DONE" };

describe("a holder", () => {
  it("that keeps a former life of an agent is told that nobody wants its word", async () => {
    const world = await taskWorld();
    const { held } = hearHolders(world, () => settings);
    const second = { ...anyHold, agentId: "a", incarnation: 2 };
    expect(await held(second, false)).toEqual({ lastReport: 0, settings });
    expect(await held({ ...second, incarnation: 1 }, true)).toBeNull();
  });

  it("may forget the end of its agent only once that is on disk", async () => {
    const world = await taskWorld();
    const { reported } = hearHolders(world, () => settings);
    world.holds({ agentId: "a" });
    await world.saved();
    world.storeBreaks();
    await expect(reported("a", 1, { ...anyReport, ...exited({ code: 1 }) })).rejects.toMatchObject({
      code: "store-unavailable",
    });
    world.storeMends();
  });
});
