import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { endianness } from "node:os";
import { basename } from "node:path";
import { attempt } from "../attempt.ts";
import type { ProcessId } from "../protocol/spec.ts";

/** What an agent's processes are found by. */
export interface TreeRoot {
  readonly agent: ProcessId;
  /** Value of `ROUSE_MARK` in the agent's environment. */
  readonly mark: string;
  readonly cgroup: string | null;
  /** A process group that is never signalled: that of the caller, unless the agent was put into it on purpose. */
  readonly ownGroup: number;
  /** False when the agent shares its process group with the rest of a pipeline. */
  readonly useGroup: boolean;
  /** Members seen earlier. */
  readonly known: readonly ProcessId[];
  /**
   * Sessions that members were seen to lead: a process in one of them came from the tree, also when the leader is gone.
   */
  readonly sessions?: readonly number[];
  /** Codex homes that members were seen to run with. */
  readonly codexHomes?: readonly string[];
}

/** What /proc/PID/stat says about one process. */
export interface ProcessInfo extends ProcessId {
  readonly ppid: number;
  readonly pgid: number;
  readonly session: number;
  /** Its controlling terminal, as the number of a device; 0 when it has none. */
  readonly tty: number;
  /** The process group in the foreground of that terminal: what is typed goes to it. */
  readonly foreground: number;
  /** At most 15 bytes, chosen by the process itself. */
  readonly name: string;
  readonly state: string;
  readonly threads: number;
  readonly cpuTicks: number;
  /** Of children that ended and were waited for, and of theirs. */
  readonly childCpuTicks: number;
  readonly rssPages: number;
}

export const isSupported = (): boolean => process.platform === "linux" && existsSync("/proc/self/stat");

export function readProcess(pid: number): ProcessInfo | null {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat === null ? null : parseStat(stat);
}

export function readAllProcesses(): ProcessInfo[] {
  const found: ProcessInfo[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const info = readProcess(Number(entry));
    if (info !== null) found.push(info);
  }
  return found;
}

/** `pid (name) state ppid …`: the name may contain spaces and parentheses, nothing after it does. */
export function parseStat(stat: string): ProcessInfo | null {
  const opening = stat.indexOf("(");
  const closing = stat.lastIndexOf(")");
  if (opening < 0 || closing < opening) return null;
  const fields = stat.slice(closing + 2).split(" ");
  // Numbered as in proc(5), where the state is the third field.
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    pid: Number(stat.slice(0, opening)),
    name: stat.slice(opening + 1, closing),
    state: fields[0] ?? "?",
    ppid: field(4),
    pgid: field(5),
    session: field(6),
    tty: field(7),
    foreground: field(8),
    cpuTicks: field(14) + field(15),
    childCpuTicks: field(16) + field(17),
    threads: field(20),
    startTicks: field(22),
    rssPages: field(24),
  };
}

/** A zombie is gone. A main thread that ended while other threads go on looks like a zombie and is not one. */
export const isAlive = ({ state, threads }: ProcessInfo): boolean =>
  !(state === "X" || state === "x") && (state !== "Z" || threads > 1);

export const isStopped = ({ state }: ProcessInfo): boolean => state === "T" || state === "t";

export function identityOf(pid: number): ProcessId | null {
  const info = readProcess(pid);
  return info !== null && isAlive(info) ? { pid, startTicks: info.startTicks } : null;
}

export function isSame({ pid, startTicks }: ProcessId): boolean {
  return identityOf(pid)?.startTicks === startTicks;
}

export const areSame = (a: ProcessId, b: ProcessId): boolean => a.pid === b.pid && a.startTicks === b.startTicks;

/**
 * The name of the file that a process runs, also when an update has deleted the file. A process can choose its own
 * name, but not this. `null`: the process is gone, or another user's.
 */
export const executableOf = (pid: number): string | null =>
  attempt(() => basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "")));

export const markVariable = "ROUSE_MARK";

/** The environment a process was started with; empty when it is gone, or another user's. */
export const environmentOf = (pid: number): Map<string, string> =>
  parseEnvironment(readIfThere(`/proc/${pid}/environ`) ?? "");

/** The text of `/proc/PID/environ`. Of a variable that stands there twice the first counts, as for `getenv`. */
export const parseEnvironment = (text: string): Map<string, string> =>
  new Map(
    text
      .split("\0")
      .map((pair): [string, string] => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)])
      .reverse(),
  );

/** Whether a process was started with this mark. That of another user's process cannot be read and counts as none. */
export function hasMark(pid: number, mark: string): boolean {
  const environment = readIfThere(`/proc/${pid}/environ`);
  return environment?.split("\0").includes(`${markVariable}=${mark}`) ?? false;
}

/** The command line of a process; empty when it is gone. */
export const argumentsOf = (pid: number): string[] =>
  readIfThere(`/proc/${pid}/cmdline`)?.split("\0").slice(0, -1) ?? [];

/** A name for a process that no other process ever has. */
export const keyOf = ({ pid, startTicks }: ProcessId): string => `${pid}:${startTicks}`;

/** Bytes that a process, and children it has waited for, have read and written, whether from a disk or not. */
export function readIoBytes(pid: number): number {
  const io = readIfThere(`/proc/${pid}/io`) ?? "";
  return [...io.matchAll(/^[rw]char: (\d+)$/gm)].reduce((sum, match) => sum + Number(match[1]), 0);
}

/** Units of the kernel's numbers, from the auxiliary vector of this process: pairs of machine words. */
export function readUnits(): { readonly ticksPerSecond: number; readonly pageBytes: number } {
  const vector = readFileSync("/proc/self/auxv");
  const word = (at: number): number =>
    Number(endianness() === "LE" ? vector.readBigUInt64LE(at) : vector.readBigUInt64BE(at));
  const values = new Map<number, number>();
  for (let at = 0; at + 16 <= vector.length; at += 16) values.set(word(at), word(at + 8));
  return { pageBytes: values.get(6) ?? 4096, ticksPerSecond: values.get(17) ?? 100 };
}

/** `null` when the process is gone or hidden from us. Any other error is ours and says nothing about the process. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES" || code === "EPERM") return null;
    throw error;
  }
}
