import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import type { Profiler } from "node:inspector";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createMemoryDisk } from "../packages/daemon/src/adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../packages/daemon/src/adapters/store-memory/open-memory-store.ts";
import { listen } from "../packages/daemon/src/api/listen.ts";
import { readConfig, requireConfig } from "../packages/daemon/src/config/read-config.ts";
import { handsOff } from "../packages/daemon/src/hands-off.test-support.ts";
import { startMonitor } from "../packages/daemon/src/monitor.ts";

const token = "a-token-for-hops";
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

async function beat(port: number, sequenceNumber: number): Promise<string> {
  const body = JSON.stringify({ agentId: "worker-1", sequenceNumber, status: "RUNNING", tokenCount: sequenceNumber });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const sent = request({ port, host: "127.0.0.1", method: "POST", path: "/api/v1/heartbeats", headers });
  sent.end(body);
  const [response] = await once(sent, "response");
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return text;
}

type Covered = Profiler.FunctionCoverage;

/** The test runner turns each export into a small function without a name: that it was read is no hop. */
const hasRun = ({ functionName, ranges: [whole] }: Covered): boolean =>
  whole !== undefined && whole.count > 0 && (functionName !== "" || whole.endOffset - whole.startOffset > 60);

/** The files of the daemon in which anything ran meanwhile. */
async function filesRunBy(deed: () => Promise<unknown>): Promise<string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await deed();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  return result
    .filter(({ functions }) => functions.some(hasRun))
    .flatMap(({ url }) => /packages\/daemon\/src\/(.*)\.ts$/.exec(url)?.[1] ?? [])
    .filter((file) => !file.includes("test-support"))
    .sort();
}

it("a heartbeat passes at most 18 files of the daemon, from the door to the store and back", async () => {
  const home = mkdtempSync(join(tmpdir(), "rouse-hops-"));
  const clock = { mono: 0, boot: 0, wall: Date.UTC(2026, 0, 1) };
  const monitor = await startMonitor({
    ...handsOff,
    store: await openMemoryStore(createMemoryDisk()),
    clock: { mono: () => clock.mono, wall: () => clock.wall, read: () => ({ ...clock }) },
    // Nothing is due while it is looked at: what runs, runs for the beat.
    timers: { soon: (callback) => void setImmediate(callback), after: () => () => undefined },
    alerts: { deliver: async () => undefined },
    log: quiet,
    config: requireConfig(readConfig({ file: { name: "test", text: "preset: default" } })),
    version: "test",
  });
  const options = { host: "127.0.0.1", port: 0, token, home, secret: "s", version: "test" };
  const server = await listen(monitor, options, quiet);
  for (let n = 1; n <= 3; n++) expect(await beat(server.port, n)).toContain('"accepted"');
  const files = await filesRunBy(() => beat(server.port, 4));
  await server.close();
  rmSync(home, { recursive: true, force: true });
  const daemon = files.filter((file) => !file.startsWith("adapters/"));
  expect(daemon).toContain("engine/engine");
  expect(daemon.length, daemon.join(", ")).toBeLessThanOrEqual(18);
});
