import { type HolderFile, isSame } from "@rouse/holder";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Client, storeOfTests, until, type World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import type { Holders } from "../../ports/holders.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
let holders: Holders;
worldOfEach((fresh) => {
  world = fresh;
});
beforeEach(async () => {
  holders = openHolders({ folder: world.home, token: "t", url: () => null }, { info() {}, warn() {}, error() {} });
  const settings = { patterns: [], completionMarker: "DONE" };
  const held = async () => ({ lastReport: 0, settings });
  await holders.begin(
    {
      standing: () => null,
      held,
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
afterEach(async () => {
  await holders.close();
  await world.remove();
});

/** An agent, and a person who has just sat down at its terminal. */
async function attended(): Promise<{ held: HolderFile; person: Client }> {
  const held = await world.start(world.spec(["sleep", "1000"]));
  const person = await world.connect(held);
  person.say({ say: "attach", size: { cols: 80, rows: 24 } });
  await person.hear("attached");
  return { held, person };
}

const stop = (key: string, unlessAttached: boolean) =>
  holders.stop({ key, agentId: "a1", incarnation: 1, grace: 3000, unlessAttached });

describe("an agent at whose terminal somebody sits", () => {
  it("is not stopped by a decision of ours, and gets no signal, until they leave", async () => {
    const { held, person } = await attended();
    expect(await stop("ours", true)).toEqual({ kind: "refused", because: "attached" });
    expect(held.agent !== null && isSame(held.agent)).toBe(true);
    const watcher = await world.connect(held);
    watcher.say({ say: "watch", epoch: 1, after: 0 });
    person.socket.destroy();
    await watcher.hear("report", ({ report }) => report.attached === 0);
    expect(await stop("ours", true)).toMatchObject({ kind: "stopped" });
    await until(() => held.agent !== null && !isSame(held.agent), "it is gone");
  });

  it("is stopped by a person's order", async () => {
    await attended();
    expect(await stop("a person's", false)).toMatchObject({ kind: "stopped" });
  });
});
