import { readFileSync, readlinkSync } from "node:fs";
import { uptime } from "node:os";
import { basename } from "node:path";
import type { AgentFamily, EpochMs } from "@rouse/contract";
import { findProgram } from "@rouse/core";
import { isAlive, type ProcessInfo, readIfThere, readProcess, readUnits } from "../processes/read-processes.ts";

/** A program of a known family that runs, with all that is needed to find what it keeps. */
export interface Running {
  readonly family: AgentFamily;
  readonly pid: number;
  readonly startTicks: number;
  readonly startedAt: EpochMs;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The known program nearest to the root of a tree: what it starts itself are its tools. The oldest of several. */
export function findRunning(root: number, members: readonly ProcessInfo[]): Running | null {
  const depths = depthsFrom(root, members);
  const byDepth = members
    .filter(isAlive)
    .sort((a, b) => (depths.get(a.pid) ?? 999) - (depths.get(b.pid) ?? 999) || a.startTicks - b.startTicks);
  for (const info of byDepth) {
    const running = describeRunning(info);
    if (running !== null) return running;
  }
  return null;
}

/** The processes of one program: itself, and those of its kind that it started without anything between. One that a tool of it runs is another. */
export function processesOf({ pid, family }: Running, members: readonly ProcessInfo[]): ReadonlySet<number> {
  const own = new Set([pid]);
  for (let before = 0; before !== own.size; ) {
    before = own.size;
    for (const info of members)
      if (own.has(info.ppid) && !own.has(info.pid) && describeRunning(info)?.family === family) own.add(info.pid);
  }
  return own;
}

function depthsFrom(root: number, members: readonly ProcessInfo[]): ReadonlyMap<number, number> {
  const depths = new Map([[root, 0]]);
  for (let before = -1; before !== depths.size; ) {
    before = depths.size;
    for (const { pid, ppid } of members) {
      const above = depths.get(ppid);
      if (above !== undefined && !depths.has(pid)) depths.set(pid, above + 1);
    }
  }
  return depths;
}

/** `null` when it is no known program, or gone, or somebody else's. */
export function describeRunning({ pid, startTicks }: ProcessInfo): Running | null {
  const argv = readIfThere(`/proc/${pid}/cmdline`)?.split("\0").slice(0, -1) ?? [];
  const program = findProgram(argv);
  if (program === null) return null;
  try {
    if (isBorrowed(argv[0] ?? "", readlinkSync(`/proc/${pid}/exe`))) return null;
    return {
      family: program.family,
      pid,
      startTicks,
      startedAt: Date.now() - Math.max(0, uptime() - startTicks / readUnits().ticksPerSecond) * 1000,
      args: program.args,
      cwd: readlinkSync(`/proc/${pid}/cwd`),
      env: environmentOf(pid),
    };
  } catch {
    return null;
  }
}

/** Interpreters may call themselves what they run. */
const interpreter = /^(?:node|bun|deno|python|pypy|electron)/;
const programName = /claude|codex|gemini|opencode|aider/i;

/** Anybody may be started under any name: a shell that is called like a program is none. */
const isBorrowed = (name: string, executable: string): boolean =>
  programName.test(basename(name)) && !programName.test(executable) && !interpreter.test(basename(executable));

/** Whether what is typed into its terminal comes to it, and not to a shell that started it or has taken its place. */
export function isInFront({ pid, startTicks, family }: Running): boolean {
  const info = readProcess(pid);
  if (info === null || !isAlive(info) || info.startTicks !== startTicks) return false;
  return info.pgid === info.foreground && describeRunning(info)?.family === family;
}

/** The one it was started with. */
function environmentOf(pid: number): Record<string, string> {
  const pairs = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)] as const),
  );
}
