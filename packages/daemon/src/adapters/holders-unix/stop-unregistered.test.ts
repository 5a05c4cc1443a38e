import { type HolderFile, isSame } from "@rouse/holder";
import { afterEach, expect, it, vi } from "vitest";
import { storeOfTests, until, type World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import type { Holders, RegisteredLife } from "../../ports/holders.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: World;
let holders: Holders;
worldOfEach((fresh) => {
  world = fresh;
});
afterEach(async () => {
  await holders.close();
  await world.remove();
});

/** An agent that outlives its holder, and a monitor that has registered what the test says. */
async function orphan(registered: (held: HolderFile) => RegisteredLife | null): Promise<HolderFile> {
  const held = await world.start(world.spec(["sh", "-c", "trap '' HUP; echo ready; while :; do sleep 0.1; done"]));
  await until(() => world.output().includes("ready"), "it runs");
  process.kill(held.holder.pid, "SIGKILL");
  await until(() => !isSame(held.holder), "its holder is gone");
  holders = openHolders({ folder: world.home, token: "t", url: () => null }, { info() {}, warn() {}, error() {} });
  const nothing = async () => {};
  const told = { reported: nothing, lost: nothing, nobodyLeft: nothing, endsLeftovers: nothing };
  const news = { ...told, standing: () => null, held: async () => null, registered: () => registered(held) };
  await holders.begin(news, 1, storeOfTests);
  return held;
}

const stop = (conditions: { notAfter?: number } = {}) =>
  holders.stop({ key: "k", agentId: "a1", incarnation: 1, grace: 5000, unlessAttached: false, ...conditions });

const lifeOf = ({ agent, mark, cgroup }: HolderFile, change: Partial<RegisteredLife> = {}): RegisteredLife => ({
  incarnation: 1,
  pid: agent?.pid ?? 0,
  identity: { startTicks: agent?.startTicks ?? 0, mark, cgroup },
  left: [],
  ...change,
});

it("an agent without a holder is stopped by what its file says where that was registered", async () => {
  const held = await orphan((each) => lifeOf(each));
  expect(await stop()).toMatchObject({ kind: "stopped" });
  expect(held.agent !== null && isSame(held.agent)).toBe(false);
});

it("an agent without a holder is left alone by an order whose time is over", async () => {
  const held = await orphan((each) => lifeOf(each));
  expect(await stop({ notAfter: Date.now() - 1 })).toEqual({ kind: "refused", because: "too-late" });
  expect(held.agent !== null && isSame(held.agent)).toBe(true);
});

it.each<[string, (held: HolderFile) => RegisteredLife | null]>([
  ["another process was registered", (held) => lifeOf(held, { pid: 1234567 })],
  ["nothing was registered", () => null],
])("an agent without a holder is left alone where %s", async (_, registered) => {
  const held = await orphan(registered);
  expect(await stop()).toEqual({ kind: "refused", because: "not-registered" });
  expect(held.agent !== null && isSame(held.agent)).toBe(true);
});
