import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HolderReport } from "@rouse/contract";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { until, type World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import type { Holders } from "../../ports/holders.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
let folder: string;
let holders: Holders;
worldOfEach((fresh) => {
  world = fresh;
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-desk-"));
  holders = openHolders({ folder: world.home, token: "t", url: () => null }, { info() {}, warn() {}, error() {} });
});
afterEach(async () => {
  await holders.close();
  await world.remove();
  rmSync(folder, { recursive: true });
});

it("a monitor that has been absent has everybody it holds looked at anew, all at once", async () => {
  const names = ["a1", "a2"];
  for (const agentId of names) await world.start(world.spec(["sleep", "1000"], { agentId, cwd: folder }));
  const last = new Map<string, HolderReport>();
  await holders.begin(
    {
      standing: () => null,
      held: async () => ({ lastReport: 0, settings: { patterns: [], completionMarker: "" } }),
      async reported(agentId, _, report) {
        last.set(agentId, report);
      },
      nobodyLeft: async () => {},
      registered: () => null,
      endsLeftovers: async () => {},
      async lost() {},
    },
    1,
    "a-store",
  );
  const everyone = (isSo: (report: HolderReport) => boolean) =>
    names.every((name) => isSo(last.get(name) as HolderReport));
  await until(() => last.size === 2, "both are heard of");
  const before = new Map(last);
  holders.lookAnew();
  await until(
    () => names.every((name) => last.get(name)?.seq === (before.get(name)?.seq ?? 0) + 1),
    "both were looked at",
  );
  expect(everyone(({ process }) => process?.files?.changes === 0)).toBe(true);
  writeFileSync(join(folder, "file"), "x");
  const seen = new Map(last);
  holders.lookAnew();
  await until(() => names.every((name) => last.get(name)?.seq !== seen.get(name)?.seq), "both were looked at again");
  expect(everyone(({ process }) => process?.files?.changes === 1)).toBe(true);
});
