import { readFileSync, readlinkSync } from "node:fs";
import { uptime } from "node:os";
import { basename } from "node:path";
import type { AgentFamily, EpochMs } from "@rouse/contract";
import { findProgram } from "@rouse/core";
import {
  argumentsOf,
  isAlive,
  type ProcessInfo,
  parseEnvironment,
  readProcess,
  readUnits,
} from "../processes/read-processes.ts";

/** A running program of a known family, with all that is needed to find its files. */
export interface Running {
  readonly family: AgentFamily;
  readonly pid: number;
  readonly startTicks: number;
  readonly startedAt: EpochMs;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The known program nearest to the root of a tree, the oldest of several. What it starts itself are its tools. */
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

/** The program, and processes of its family that it started directly. One that a tool starts is another program. */
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

/** `null` when the process is no known program, is gone, or is another user's. */
export function describeRunning({ pid, startTicks }: ProcessInfo): Running | null {
  const argv = argumentsOf(pid);
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
      env: Object.fromEntries(parseEnvironment(readFileSync(`/proc/${pid}/environ`, "utf8"))),
    };
  } catch {
    return null;
  }
}

/** Interpreters may take the name of what they run. */
const interpreter = /^(?:node|bun|deno|python|pypy|electron)/;
const programName = /claude|codex|gemini|opencode|aider/i;

/** A process can be started under any name: a shell that is called like a program is not that program. */
const isBorrowed = (name: string, executable: string): boolean =>
  programName.test(basename(name)) && !programName.test(executable) && !interpreter.test(basename(executable));

/** Whether what is typed into its terminal reaches this program, and not a shell that started or replaced it. */
export function isInFront({ pid, startTicks, family }: Running): boolean {
  const info = readProcess(pid);
  if (info === null || !isAlive(info) || info.startTicks !== startTicks) return false;
  return info.pgid === info.foreground && describeRunning(info)?.family === family;
}
