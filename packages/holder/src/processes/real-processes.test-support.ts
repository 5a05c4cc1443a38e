import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { ProcessId } from "../protocol/spec.ts";
import { type AgentGroup, makeGroup, tierOfHost } from "./cgroup.ts";
import { findKin } from "./find-tree.ts";
import {
  isAlive,
  isSupported,
  type ProcessInfo,
  readAllProcesses,
  readProcess,
  type TreeRoot,
} from "./read-processes.ts";

/** Real processes on a busy machine. */
export const patient = { timeout: 60_000 };

export const onLinux = isSupported();
export const cgroupsHere = onLinux && tierOfHost().tier === "cgroup";

export function warnOfWhatIsLeftOut(what: string): void {
  if (!onLinux) console.warn(`NOT RUN: ${what}: this is not Linux`);
  else if (!cgroupsHere) console.warn(`NOT RUN: ${what} in control groups: ${tierOfHost().why}`);
}

/**
 * A folder for scripts. Its name is in the command line of everything started from it, which is how a test finds
 * leftovers by itself.
 */
export interface Nursery {
  readonly folder: string;
  readonly token: string;
  /** A command that waits for very long and can be found by the token. */
  readonly linger: string;
  write(name: string, lines: readonly string[]): string;
  lines(file: string): string[];
  /** That somebody has put there; 0 while nobody has. */
  pidIn(file: string): number;
  /** Until a file has so many lines. */
  written(file: string, lines?: number): Promise<void>;
  leftovers(): number[];
  /** Kills what a test left behind. */
  clear(): void;
}

/**
 * What each test of a `describe` has for itself, made before it and ended after it; what was made last is ended first.
 */
export function ofEach<T extends object>(make: () => T, end: (made: T) => void): T {
  let made: T | null = null;
  beforeEach(() => {
    made = make();
  });
  afterEach(() => {
    if (made !== null) end(made);
    made = null;
  });
  return new Proxy({} as T, {
    get: (_, key) => Reflect.get(made ?? expect.fail("it is there only during a test"), key),
  });
}

export const nurseryOfEach = (): Nursery => ofEach(openNursery, (nursery) => nursery.clear());

export function openNursery(): Nursery {
  const folder = mkdtempSync(join(tmpdir(), "rouse-tree-"));
  // Digits only, so that it can be part of a number of seconds.
  const token = String(Math.floor(Math.random() * 1e9)).padStart(9, "7");
  const lines = (file: string): string[] => {
    const path = join(folder, file);
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
  };
  const leftovers = () => pidsWhose((pid) => commandLine(pid).includes(token) || commandLine(pid).includes(folder));
  return {
    folder,
    token,
    linger: `sleep 1000.${token}`,
    leftovers,
    write(name, lines) {
      const file = join(folder, name);
      writeFileSync(file, `${lines.join("\n")}\n`);
      return file;
    },
    lines,
    pidIn: (file) => Number(lines(file)[0] ?? 0),
    written: (file, count = 1) => until(() => lines(file).length >= count, `${count} lines in ${file}`),
    clear() {
      for (let round = 0; round < 100 && leftovers().length > 0; round++) leftovers().forEach(killHard);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a script as an agent is started: in a session of its own, marked, in a group if one is given. */
export function startAgent(script: string, group: AgentGroup | null = null, options: SpawnOptions = {}) {
  const mark = randomUUID();
  const fork = () =>
    spawn("sh", [script], {
      detached: true,
      stdio: "ignore",
      env: { ...process.env, ROUSE_MARK: mark },
      ...options,
    });
  const child = group === null ? fork() : group.spawnInside(fork);
  return { child, root: rootOf(child, mark, group) };
}

export function rootOf(child: Pick<ChildProcess, "pid">, mark: string, group: AgentGroup | null = null): TreeRoot {
  return {
    agent: identityEvenIfOver(child),
    mark,
    cgroup: group?.folder ?? null,
    ownGroup: readProcess(process.pid)?.pgid ?? 0,
    useGroup: true,
    known: [],
  };
}

/** Nobody has waited for it yet, so it can be read even if it has ended. */
function identityEvenIfOver({ pid = 0 }: Pick<ChildProcess, "pid">): ProcessId {
  return { pid, startTicks: readProcess(pid)?.startTicks ?? Number.NaN };
}

export const findTree = (root: TreeRoot, all: readonly ProcessInfo[] = readAllProcesses()): ProcessInfo[] =>
  findKin(root, all).members;

export function groupHere(): AgentGroup {
  const group = makeGroup("test of trees");
  if (group === null) throw new Error("no control group could be made");
  return group;
}

export const isThere = (pid: number): boolean => {
  const info = readProcess(pid);
  return info !== null && isAlive(info);
};

export const until = (condition: () => boolean, what: string): Promise<void> =>
  vi.waitFor(
    () => {
      if (!condition()) throw new Error(`never came: ${what}`);
    },
    { timeout: 20_000, interval: 10 },
  );

/** One that belongs to nobody's tree. */
export function startBystander(nursery: Nursery, detached = false): number {
  const [command = "", ...args] = nursery.linger.split(" ");
  return spawn(command, args, { detached, stdio: "ignore" }).pid ?? 0;
}

function pidsWhose(matches: (pid: number) => boolean): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 1 && pid !== process.pid && isThere(pid) && matches(pid));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

export function killHard(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone by itself.
  }
}
