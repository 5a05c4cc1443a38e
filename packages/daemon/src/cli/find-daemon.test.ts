import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { identityOf } from "@rouse/holder";
import { connectRouse } from "@rouse/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findDaemon, findRunning, isRunning } from "./find-daemon.ts";

let home = "";
let url = "";
let server: Server;
/** Stands for the daemon: all that counts of it is that it lives. */
let daemon: ChildProcess;
let heard: (string | undefined)[] = [];

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "rouse-find-"));
  heard = [];
  server = createServer((request, response) => {
    heard.push(request.headers.authorization);
    response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(home, "token"), "s3cret-s3cret-s3cret\n", { mode: 0o600 });
  await startDaemon();
});

afterEach(async () => {
  await kill();
  server.closeAllConnections();
  server.close();
  rmSync(home, { recursive: true });
});

async function startDaemon(): Promise<void> {
  daemon = spawn("sleep", ["1000"], { stdio: "ignore" });
  await once(daemon, "spawn");
}

async function kill(): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  daemon.kill("SIGKILL");
  await once(daemon, "exit");
}

const ticks = (): number => identityOf(daemon.pid ?? 0)?.startTicks ?? 0;

const leave = (more: object): void =>
  writeFileSync(
    join(home, "daemon.json"),
    JSON.stringify({ pid: daemon.pid, url, startedAt: "", version: "1", ...more }),
  );

const here = () => ({ home, environment: {} });
const noRouse = { code: "daemon-unreachable", message: expect.stringContaining("no Rouse is running") };

describe("the owner's token", () => {
  it("goes to the process that wrote daemon.json, while it lives", async () => {
    leave({ startTicks: ticks() });
    await connectRouse(await findDaemon(here())).status();
    expect(heard).toEqual(["Bearer s3cret-s3cret-s3cret"]);
  });

  it("does not go to whoever has the port of one that was killed", async () => {
    leave({ startTicks: ticks() });
    await kill();
    await expect(findDaemon(here())).rejects.toMatchObject(noRouse);
    expect(await findRunning(home)).toBeNull();
  });

  it("does not go anywhere when another process has the pid by now", async () => {
    leave({ startTicks: ticks() - 1 });
    await expect(findDaemon(here())).rejects.toMatchObject(noRouse);
  });

  it("is not sent again once the daemon that was found is gone, and is when it came back at the same address", async () => {
    leave({ startTicks: ticks() });
    const rouse = connectRouse(await findDaemon(here()));
    await kill();
    await expect(rouse.status()).rejects.toMatchObject({ ...noRouse, retryable: true });
    const following = (async () => {
      for await (const _ of rouse.streamEvents({ after: 0 })) break;
    })();
    await expect(following).rejects.toMatchObject({ ...noRouse, retryable: true });
    expect(heard).toEqual([]);
    await startDaemon();
    leave({ startTicks: ticks() });
    await rouse.status();
    leave({ startTicks: ticks(), url: "http://127.0.0.1:1" });
    await expect(rouse.status()).rejects.toMatchObject(noRouse);
    expect(heard).toHaveLength(1);
  });

  it("goes by the pid alone for a daemon of an earlier version", async () => {
    leave({});
    await connectRouse(await findDaemon(here())).status();
    expect(heard).toHaveLength(1);
    await kill();
    await expect(findDaemon(here())).rejects.toMatchObject(noRouse);
  });
});

describe("where there is no /proc", () => {
  const { platform } = process;
  afterEach(() => void Object.defineProperty(process, "platform", { value: platform }));

  it("the pid decides", async () => {
    Object.defineProperty(process, "platform", { value: "darwin" });
    const left = { pid: daemon.pid ?? 0, startTicks: null };
    expect(isRunning(left)).toBe(true);
    await kill();
    expect(isRunning(left)).toBe(false);
  });
});
