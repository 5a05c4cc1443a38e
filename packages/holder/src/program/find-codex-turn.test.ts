import { chmodSync, chownSync, lchownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { linkSocket, thread, turn } from "./codex-server.test-support.ts";
import { findCodexTurn } from "./find-codex-turn.ts";
import type { Running } from "./find-running.ts";

let folder: string;
let home: string;
let servers: Server[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-turn-"));
  home = join(folder, "codex");
  servers = [];
});
afterEach(async () => {
  for (const server of servers) await new Promise((closed) => server.close(closed));
  rmSync(folder, { recursive: true, force: true });
});

async function listen(...names: string[]): Promise<string> {
  const path = join(folder, ...names);
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  const server = createServer();
  servers.push(server);
  await new Promise<void>((listening) => server.listen(path, listening));
  return path;
}

const codex = (over: Partial<Running> = {}): Running => ({
  family: "codex",
  pid: 1,
  startTicks: 1,
  startedAt: 0,
  args: ["fix it"],
  cwd: folder,
  env: { CODEX_HOME: home },
  ...over,
});
const file = `/x/sessions/2026/11/17/rollout-2026-11-17T22-36-30-${thread}.jsonl`;
const find = (over: Partial<Running> = {}) => findCodexTurn(codex(over), file, turn);
const isRoot = process.getuid?.() === 0;
const nobody = 65534;

describe("the server that runs a turn of Codex", () => {
  it("is found behind the link in its home, with the thread that its file is named after", async () => {
    const server = await listen("daemon", "0a1b");
    linkSocket(home, server);
    expect(find()).toEqual({ server, thread, turn });
    expect(find({ env: { CODEX_HOME: "codex" } })).toEqual({ server, thread, turn });
    const turnedBack = file.replace(".jsonl", "_01a1e667-aaaa-79e3-ab27-000000000009.jsonl");
    expect(findCodexTurn(codex(), turnedBack, turn)?.thread).toBe(thread);
  });

  it("is found in the home of whoever started it, and without a link", async () => {
    const server = await listen(".codex", "app-server-control", "app-server-control.sock");
    expect(find({ env: { HOME: folder } })).toEqual({ server, thread, turn });
  });

  it("is none while no turn is under way, of another program, of one without a screen, or of a file that names no thread", async () => {
    linkSocket(home, await listen("daemon", "0a1b"));
    expect(findCodexTurn(codex(), file, null)).toBeNull();
    expect(find({ family: "claude-code" })).toBeNull();
    expect(find({ args: ["exec", "fix it"] })).toBeNull();
    expect(findCodexTurn(codex(), "/x/rollout-2026-11-17T22-36-30-else.jsonl", turn)).toBeNull();
  });

  it("is none where there is nothing, a plain file or a link to one", () => {
    expect(find()).toBeNull();
    const plain = join(folder, "plain");
    writeFileSync(plain, "");
    linkSocket(home, plain);
    expect(find()).toBeNull();
  });

  it("is none behind a link into a folder where others can put something in its place", async () => {
    linkSocket(home, await listen("shared", "0a1b"));
    expect(find()).not.toBeNull();
    chmodSync(join(folder, "shared"), 0o777);
    expect(find()).toBeNull();
  });

  it("is none where others can change the link, or behind a link that leads nowhere or in a circle", async () => {
    linkSocket(home, await listen("daemon", "0a1b"));
    chmodSync(join(home, "app-server-control"), 0o775);
    expect(find()).toBeNull();
    for (const target of ["nowhere", "app-server-control.sock"]) {
      rmSync(home, { recursive: true });
      mkdirSync(join(home, "app-server-control"), { recursive: true, mode: 0o700 });
      symlinkSync(target, join(home, "app-server-control", "app-server-control.sock"));
      expect(find()).toBeNull();
    }
  });

  it.runIf(isRoot)("is none when the socket, its folder or the link is somebody else's", async () => {
    const server = await listen("daemon", "0a1b");
    const link = linkSocket(home, server);
    chownSync(server, nobody, nobody);
    expect(find()).toBeNull();
    chownSync(server, 0, 0);
    expect(find()).not.toBeNull();
    chownSync(join(folder, "daemon"), nobody, nobody);
    expect(find()).toBeNull();
    chownSync(join(folder, "daemon"), 0, 0);
    lchownSync(link, nobody, nobody);
    expect(find()).toBeNull();
  });
});
