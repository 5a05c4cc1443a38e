import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type BundledHolder, bundleHolder } from "./bundle-holder.test-support.ts";
import { openWorld, until, type World } from "./holding.test-support.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), "rouse-disk-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m,mode=0700", "rouse-disk", folder]).status === 0;
let bundled: BundledHolder;
let world: World;
beforeAll(async () => {
  bundled = await bundleHolder();
  if (!mounted)
    console.warn("NOT TESTED: a holder on a full disk, because we may not mount one here (that needs root)");
  world = openWorld(bundled.holderFile, join(folder, "home"));
});
afterAll(async () => {
  await world.remove();
  if (mounted && spawnSync("umount", [folder]).status !== 0) spawnSync("umount", ["-l", folder]);
  rmSync(folder, { recursive: true, force: true });
  bundled.remove();
});

function fill(): void {
  const handle = openSync(join(folder, "ballast"), "w");
  try {
    for (let size = 64 * 1024; size >= 1; ) {
      try {
        writeSync(handle, Buffer.alloc(size));
      } catch {
        size = Math.floor(size / 4);
      }
    }
  } finally {
    closeSync(handle);
  }
}

it.skipIf(!mounted)(
  "how an agent ended is written down on a full disk, and the agent does not notice that there is no room",
  async () => {
    mkdirSync(world.home, { recursive: true });
    const script = "read x; head -c 3000000 /dev/zero | tr '\\0' x; printf the-end; exit 11";
    const held = await world.start(world.spec(["sh", "-c", script], { keepBytes: 4_000_000 }));
    fill();
    const client = await world.connect(held);
    client.say({ say: "watch", epoch: 1, after: 0 });
    client.say({ say: "attach", size: { cols: 80, rows: 24 } });
    await client.hear("attached");
    client.type("\r");
    const { report } = await client.hear("report", (each) => each.report.exit !== null);
    expect(report).toMatchObject({ outputKept: false, exit: { code: 11 } });
    await client.shows("the-end");
    client.say({ say: "heard", seq: report.seq });
    await until(() => readFileSync(world.files().exit, "utf8").includes('"code":11'), "it is written down");
    await client.closed();
  },
);
