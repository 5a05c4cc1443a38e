import { afterEach, expect, it, vi } from "vitest";
import { storeOfTests, type World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: World;
worldOfEach((fresh) => {
  world = fresh;
});
afterEach(() => world.remove());

it("a monitor that is closed while it meets an agent lets go of it", async () => {
  await world.start(world.spec(["sleep", "1000"]));
  const log = { info() {}, warn() {}, error() {} };
  const holders = openHolders({ folder: world.home, token: "t", url: () => null }, log);
  const settings = { patterns: [], completionMarker: "" };
  let saved: () => void = () => {};
  const met = new Promise<void>((meets) => {
    void holders.begin(
      {
        standing: () => null,
        held: () =>
          new Promise((resolve) => {
            saved = () => resolve({ lastReport: 0, settings });
            meets();
          }),
        reported: async () => {},
        lost: async () => {},
        nobodyLeft: async () => {},
        registered: () => null,
        endsLeftovers: async () => {},
      },
      1,
      storeOfTests,
    );
  });
  await met;
  const closed = holders.close();
  saved();
  await expect(closed).resolves.toBeUndefined();
});
