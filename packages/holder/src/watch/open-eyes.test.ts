import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HolderReport } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Client, until } from "../holding.test-support.ts";
import { rootOf } from "../processes/real-processes.test-support.ts";
import { createByteCount, createNetworkWatch } from "../processes/watch-network.ts";
import { createTreeWatch } from "../processes/watch-tree.ts";
import { reportsOf } from "../program/watched-program.test-support.ts";
import type { HolderFile, Spec } from "../protocol/spec.ts";
import { freshWorld } from "../world-of-each.test-support.ts";
import { openEyes } from "./open-eyes.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-desk-"));
});
afterEach(() => rmSync(folder, { recursive: true }));
const world = freshWorld(); // removed before the folder: hooks after a test run in reverse order

const lastOf = (client: Client): HolderReport | undefined => reportsOf(client).at(-1);

async function watched(command: string[], changes: Partial<Spec> = {}): Promise<{ held: HolderFile; monitor: Client }> {
  const held = await world.start(world.spec(command, { cwd: folder, ...changes }));
  const monitor = await world.connect(held);
  monitor.say({ say: "watch", epoch: 1, after: 0 });
  expect(await monitor.hear("watched")).toMatchObject({ knowsLook: true });
  await monitor.hear("report");
  return { held, monitor };
}

/** The report that follows on being asked. */
async function look(monitor: Client): Promise<HolderReport> {
  const before = lastOf(monitor)?.seq ?? 0;
  monitor.say({ say: "look" });
  return (await monitor.hear("report", ({ report }) => report.seq > before)).report;
}

/** A look takes a moment; so many probes take longer. */
async function letTimePass(client: Client): Promise<void> {
  for (let id = 1; id <= 50; id++) {
    client.say({ say: "probe", id });
    await client.hear("here", (here) => here.id === id);
  }
}

describe("a look anew", () => {
  it("is reported at once and is of now, whatever was seen a moment ago", async () => {
    const { monitor } = await watched(["sh", "-c", "read x; sleep 1000 & wait"]);
    const first = await look(monitor);
    expect(first.process).toMatchObject({
      processes: 1,
      network: { sockets: 0, bytes: 0 },
      files: { changes: 0 },
      youngestChildAt: null,
    });
    writeFileSync(join(folder, "file"), "x");
    expect((await look(monitor)).process?.files).toEqual({ changes: 1 });
    await until(() => monitor.say({ say: "look" }) ?? lastOf(monitor)?.process?.readsTerminal === true, "it reads");
    monitor.say({ say: "attach", size: { cols: 80, rows: 24 } });
    monitor.type("\r");
    // Typing is told of too: which report is the one we asked for cannot be seen from outside.
    await until(() => monitor.say({ say: "look" }) ?? lastOf(monitor)?.process?.processes === 2, "a child", 4000);
    expect(lastOf(monitor)?.process).toMatchObject({ youngestChildAt: expect.any(Number), readsTerminal: false });
  });

  it("is the monitor's to ask for, and nobody is told of it but the monitor", async () => {
    const { held, monitor } = await watched(["sleep", "1000"]);
    await look(monitor);
    const told = reportsOf(monitor).length;
    const other = await world.connect(held);
    other.say({ say: "look" });
    await letTimePass(other);
    expect(reportsOf(monitor)).toHaveLength(told);
    await look(monitor);
    expect(reportsOf(other)).toEqual([]);
  });
});

it("nothing is told any more of one that is over", async () => {
  const { monitor } = await watched(["sh", "-c", "read x"]);
  monitor.say({ say: "attach", size: { cols: 80, rows: 24 } });
  monitor.type("\r");
  await monitor.hear("exited");
  monitor.say({ say: "look" });
  await letTimePass(monitor);
  expect(lastOf(monitor)?.exit).not.toBeNull();
});

it("many looks asked for at once are one", async () => {
  const { held, monitor } = await watched(["sleep", "1000"]);
  const { seq } = await look(monitor);
  // While it does not run they pile up, however busy the machine is.
  process.kill(held.holder.pid, "SIGSTOP");
  for (let times = 0; times < 20; times++) monitor.say({ say: "look" });
  monitor.say({ say: "probe", id: 999 });
  process.kill(held.holder.pid, "SIGCONT");
  await monitor.hear("here", (here) => here.id === 999);
  await letTimePass(monitor);
  expect(lastOf(monitor)?.seq).toBeLessThanOrEqual(seq + 2);
});

describe("an agent's connections", () => {
  let servers: Server[];
  beforeEach(() => {
    servers = [];
  });
  afterEach(() => {
    for (const server of servers) server.closeAllConnections();
    for (const server of servers) server.close();
  });

  async function listen(): Promise<string> {
    const server = createServer((_, answer) => answer.flushHeaders()).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it.skipIf(!existsSync("/usr/bin/ss"))(
    "are unknown while a look at them hangs, and known again after it",
    async () => {
      const address = await listen();
      const slow = join(folder, "slow-ss");
      writeFileSync(slow, `#!/bin/sh\n[ ! -e ${folder}/hang ] || exec sleep 1000\nexec /usr/bin/ss "$@"\n`, {
        mode: 0o755,
      });
      const agent = spawn("node", ["-e", `require("http").get("${address}")`], { stdio: "ignore", detached: true });
      const tree = createTreeWatch(rootOf(agent, "not-marked"));
      const faults: string[] = [];
      const network = createNetworkWatch(null, createByteCount([slow]));
      const eyes = openEyes(tree, world.spec([], { cwd: folder }), world.home, (what) => faults.push(what), network);
      const sockets = () => eyes.facts().network?.sockets ?? null;
      await until(() => sockets() === 1, "it is seen");
      writeFileSync(join(folder, "hang"), "");
      await until(() => sockets() === null, "a look that hangs");
      expect(faults).toEqual([]);
      await until(() => faults.length > 0, "it was given up");
      rmSync(join(folder, "hang"));
      await until(() => sockets() === 1, "it is seen again");
      eyes.close();
      agent.kill("SIGKILL");
    },
  );

  it("are reported without those to Rouse", async () => {
    const [rouse, provider] = [await listen(), await listen()];
    const script = `for (const url of ["${rouse}", "${provider}"]) require("http").get(url, () => console.log("heard"))`;
    const env = { ...world.spec([]).env, ROUSE_URL: rouse };
    const { monitor } = await watched(["node", "-e", script], { env });
    await until(() => world.output().toString().split("heard").length === 3, "both have answered");
    expect((await look(monitor)).process?.network).toMatchObject({ sockets: 1 });
  });
});
