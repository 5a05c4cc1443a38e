import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { identityOf, isSame } from "../packages/holder/src/processes/read-processes.ts";
import { holderFiles } from "../packages/holder/src/protocol/holder-files.ts";
import type { HolderFile, ProcessId } from "../packages/holder/src/protocol/spec.ts";
import { cleanUp, makeFolder, watchChild } from "./clean-up.ts";
import { holderOf, outputOf, spawnAgent } from "./held-agents.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

/** A process that is none of Rouse's business. */
function startStranger(): ProcessId {
  const stranger: ChildProcess = spawn("/bin/sleep", ["1000"], { detached: true, env: {}, stdio: "ignore" });
  watchChild(stranger);
  const id = identityOf(stranger.pid ?? 0);
  if (id === null) throw new Error("the stranger did not start");
  return id;
}

async function holdAgent(command: readonly string[]): Promise<{ daemon: Daemon; home: string; held: HolderFile }> {
  const home = `${makeFolder()}/home`;
  const daemon = await startDaemon({ home });
  const held = await spawnAgent(home, "a1", command, ["--restart", "on-failure"]);
  await until("it is held", async () => (await daemon.events("AGENT_HELD")).length === 1);
  return { daemon, home, held };
}

function edit(home: string, change: (file: HolderFile) => Partial<HolderFile>): void {
  const { holder } = holderFiles(home, "a1");
  const file = JSON.parse(readFileSync(holder, "utf8"));
  writeFileSync(holder, JSON.stringify({ ...file, ...change(file) }));
}

interface Line {
  readonly action: string;
  readonly evidence: unknown;
}

async function linesOf(daemon: Daemon, action: string): Promise<Line[]> {
  const { stdout } = await daemon.cli("audit", "list", "--json", "--limit", "1000");
  const { entries }: { entries: Line[] } = JSON.parse(stdout);
  return entries.filter((line) => line.action === action);
}

it("a holder's file that names a stranger's process makes nobody signal it: the restart fails, and a person is told why", async () => {
  const { daemon, home, held } = await holdAgent(["sleep", "1000"]);
  const stranger = startStranger();
  edit(home, () => ({ agent: stranger }));
  process.kill(held.holder.pid, "SIGKILL");
  const [failed] = await until("its restart fails", async () => {
    const events = await daemon.events("RESTART_FAILED");
    return events.length > 0 && events;
  });
  expect(failed?.payload).toMatchObject({ problem: expect.stringContaining("never registered for a1") });
  await until("a person is told", async () => (await daemon.events("ALERT_RAISED")).length > 0);
  expect(isSame(stranger)).toBe(true);
  expect(await linesOf(daemon, "end-leftovers")).toEqual([]);
}, 120_000);

it("processes that a life left are ended for the next, and the audit trail said so before", async () => {
  const leaves = "setsid sh -c 'echo left $$; exec sleep 1000' & exec sleep 1000";
  const { daemon, home, held } = await holdAgent(["sh", "-c", leaves]);
  const pid = await until("it has left a process", () => {
    const [, found] = /left (\d+)/.exec(outputOf(home, "a1").text) ?? [];
    return found === undefined ? null : Number(found);
  });
  const left = identityOf(pid);
  process.kill(held.holder.pid, "SIGKILL");
  await until("it lives again", async () => (await daemon.events("AGENT_RESTARTED")).length > 0);
  expect(left !== null && isSame(left)).toBe(false);
  const [line] = await linesOf(daemon, "end-leftovers");
  expect(line).toMatchObject({ actor: "rouse", subject: "a1", reason: "before-restart" });
  expect(line?.evidence).toEqual({ incarnation: 1, pids: [pid] });
  expect(holderOf(home, "a1").incarnation).toBe(2);
}, 120_000);
