import { readProcess } from "@rouse/holder";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { until, type World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import type { Holders } from "../../ports/holders.ts";
import { codexSays, makeQuota, type Plays } from "./make-quota.test-support.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
let holders: Holders;
let made: ReturnType<typeof makeQuota>;
worldOfEach((fresh) => {
  world = fresh;
});
beforeEach(() => {
  holders = openHolders({ folder: world.home, token: "t", url: () => null }, { info() {}, warn() {}, error() {} });
  made = makeQuota(world.home);
});
afterEach(async () => {
  await holders.close();
  await world.remove();
});

/** A life of Codex that is over. */
async function hasEnded(plays: Plays, incarnation = 1): Promise<void> {
  const command = [made.fileOf("codex"), "exec", "change the greeting"];
  const env = made.environment(plays);
  await world.ended(await world.start(world.spec(command, { family: "codex", cwd: world.home, env, incarnation })));
}

const usedUp = () => codexSays(100, Math.floor(Date.now() / 1000) + 3600);

it("the program of an agent that is down is asked as it was started", async () => {
  await hasEnded(usedUp());
  expect(await holders.quotaOf("a1", 1)).toMatchObject({ kind: "used-up" });
  expect(made.asked().args).toEqual(["app-server"]);
});

it("nobody is asked whose next life has begun, or who was never there", async () => {
  await hasEnded(usedUp(), 2);
  for (const agentId of ["a1", "nobody"])
    expect(await holders.quotaOf(agentId, 1)).toEqual({ kind: "unknown", because: "begun" });
  expect(made.asked().args).not.toContain("app-server");
});

it("a monitor that is closed meanwhile concludes nothing, and leaves nobody behind", async () => {
  await hasEnded({ stays: true });
  const answer = expect(holders.quotaOf("a1", 1)).rejects.toMatchObject({ retryable: true });
  await until(() => made.asked().args.includes("app-server"), "it is being asked");
  const { pid } = made.asked();
  await holders.close();
  // Sooner than its time to answer is up.
  await until(() => readProcess(pid) === null, "it is gone", 10_000);
  await answer;
});
