import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { endianness } from "node:os";
import { basename } from "node:path";
import type { ProcessId } from "../protocol/spec.ts";

/** What a tree of processes is found by. */
export interface TreeRoot {
  readonly agent: ProcessId;
  /** Value of `ROUSE_MARK` in the agent's environment. */
  readonly mark: string;
  readonly cgroup: string | null;
  /** Process group nobody of which is ever touched: that of whoever asks, unless the agent was put into it on purpose. */
  readonly ownGroup: number;
  /** False when the agent shares its process group with somebody else's pipeline. */
  readonly useGroup: boolean;
  /** Members seen earlier. */
  readonly known: readonly ProcessId[];
  /** Sessions seen led by members: whoever is in one came from the tree, also when the leader is gone. */
  readonly sessions?: readonly number[];
  /** Homes of Codex that members were seen to run with. */
  readonly codexHomes?: readonly string[];
}

/** What /proc/PID/stat says of one process. */
export interface ProcessInfo extends ProcessId {
  readonly ppid: number;
  readonly pgid: number;
  readonly session: number;
  /** Its controlling terminal, as the number of a device; 0 when it has none. */
  readonly tty: number;
  /** The group of processes in the foreground of that terminal: what is typed goes to them. */
  readonly foreground: number;
  /** At most 15 bytes, chosen by the process itself. */
  readonly name: string;
  readonly state: string;
  readonly threads: number;
  readonly cpuTicks: number;
  /** Of children that ended and were waited for, and theirs. */
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

/** `pid (name) state ppid …`: the name may hold spaces and parentheses, nothing after it does. */
export function parseStat(stat: string): ProcessInfo | null {
  const opening = stat.indexOf("(");
  const closing = stat.lastIndexOf(")");
  if (opening < 0 || closing < opening) return null;
  const fields = stat.slice(closing + 2).split(" ");
  // Numbered as in proc(5), where the state is the third.
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

/** A zombie is gone; but a main thread that ended while others go on looks like one and is not. */
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

/** Its name is by its file, also when an update has taken that away: anybody may be started under any name. `null`: gone, or somebody else's. */
export function executableOf(pid: number): string | null {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ""));
  } catch {
    return null;
  }
}

export const markVariable = "ROUSE_MARK";

/** The environment a process was started with. Nobody can read that of another user's process: no mark then. */
export function hasMark(pid: number, mark: string): boolean {
  const environment = readIfThere(`/proc/${pid}/environ`);
  return environment?.split("\0").includes(`${markVariable}=${mark}`) ?? false;
}

/** `null`: it has none, or is another user's. */
export function markOf(pid: number): string | null {
  const pairs = readIfThere(`/proc/${pid}/environ`)?.split("\0") ?? [];
  return pairs.find((pair) => pair.startsWith(`${markVariable}=`))?.slice(markVariable.length + 1) ?? null;
}

/** Read and written by a process and by children it has waited for, whether it came from a disk or not. */
export function readIoBytes(pid: number): number {
  const io = readIfThere(`/proc/${pid}/io`) ?? "";
  return [...io.matchAll(/^[rw]char: (\d+)$/gm)].reduce((sum, match) => sum + Number(match[1]), 0);
}

/** Units of the kernel's numbers, from the vector it hands to every process: pairs of machine words. */
export function readUnits(): { readonly ticksPerSecond: number; readonly pageBytes: number } {
  const vector = readFileSync("/proc/self/auxv");
  const word = (at: number): number =>
    Number(endianness() === "LE" ? vector.readBigUInt64LE(at) : vector.readBigUInt64BE(at));
  const values = new Map<number, number>();
  for (let at = 0; at + 16 <= vector.length; at += 16) values.set(word(at), word(at + 8));
  return { pageBytes: values.get(6) ?? 4096, ticksPerSecond: values.get(17) ?? 100 };
}

/** `null` when the process is gone or hidden from us; any other fault is ours and says nothing about the process. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES" || code === "EPERM") return null;
    throw error;
  }
}
