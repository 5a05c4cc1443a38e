import { isSame } from "@rouse/holder";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { storeOfTests, until, type World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import type { Holders } from "../../ports/holders.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
let holders: Holders;
worldOfEach((fresh) => {
  world = fresh;
});
beforeEach(() => {
  holders = openHolders({ folder: world.home, token: "t", url: () => null }, { info() {}, warn() {}, error() {} });
});
afterEach(async () => {
  await holders.close();
  await world.remove();
});

const settings = { patterns: [], completionMarker: "DONE" };
const news = {
  standing: () => null,
  held: async () => ({ lastReport: 0, settings }),
  reported: async () => {},
  lost: async () => {},
  nobodyLeft: async () => {},
  registered: () => null,
  endsLeftovers: async () => {},
};
const whom = { agentId: "a1", incarnation: 1 };
const stop = () => holders.stop({ key: "saved stop", ...whom, grace: 3000, unlessAttached: false });
const nudge = () => holders.nudge({ key: "saved nudge", ...whom, text: "hello", notAfter: Date.now() + 60_000 });

describe("what the run before had ordered", () => {
  it("is to be tried again while this one cannot say who it is, and is carried out once it can", async () => {
    const { agent } = await world.start(world.spec(["sleep", "1000"]));
    for (const order of [stop, nudge])
      await expect(order()).rejects.toMatchObject({ code: "holder-unreachable", retryable: true });
    expect(agent !== null && isSame(agent)).toBe(true);
    await holders.begin(news, 1, storeOfTests);
    expect(await nudge()).not.toMatchObject({ because: "wrong-secret" });
    expect(await stop()).toMatchObject({ kind: "stopped" });
    await until(() => agent !== null && !isSame(agent), "it is gone");
  });
});
