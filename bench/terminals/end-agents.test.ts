import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endAgents, processesOf } from "./end-agents.ts";

let home = "";
let started: ChildProcess[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-bench-"));
});

afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  started = [];
  rmSync(home, { recursive: true, force: true });
});

async function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
  const command = "process.stdout.write('here'); setInterval(() => {}, 1e6)";
  const child = spawn(process.execPath, ["-e", command, ...args], { stdio: ["ignore", "pipe", "ignore"], env });
  started.push(child);
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

describe.runIf(process.platform === "linux")("cleaning up after a bench", () => {
  it("ends holders and agents of its own home, and nobody else's", async () => {
    const holder = await start([join(home, "holders", "worker-1")]);
    const agent = await start([], { ROUSE_HOME: home });
    const others = [await start([`${home}-2/holders/worker-1`]), await start([], { ROUSE_HOME: `${home}-2` })];
    expect(processesOf(home).sort()).toEqual([holder.pid, agent.pid].sort());

    const ends = [once(holder, "exit"), once(agent, "exit")];
    endAgents(home);

    expect(await Promise.all(ends)).toEqual([
      [null, "SIGKILL"],
      [null, "SIGKILL"],
    ]);
    expect(others.map(({ exitCode, signalCode }) => exitCode ?? signalCode)).toEqual([null, null]);
  });

  it("takes away the group that a killed holder left", () => {
    const group = join(home, "groups", "worker-1-abc");
    for (const half of ["agent", "holder"]) mkdirSync(join(group, half), { recursive: true });
    mkdirSync(join(home, "holders", "worker-1"), { recursive: true });
    writeFileSync(join(home, "holders", "worker-1", "holder.json"), JSON.stringify({ cgroup: join(group, "agent") }));

    endAgents(home);

    expect(existsSync(group)).toBe(false);
  });

  it("is done at once when nothing was ever started", () => {
    endAgents(join(home, "nowhere"));
    expect(processesOf(join(home, "nowhere"))).toEqual([]);
  });
});
