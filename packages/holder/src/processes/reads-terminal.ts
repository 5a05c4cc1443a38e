import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { attempt } from "../attempt.ts";
import type { ProcessInfo } from "./read-processes.ts";

/** Numbers of the system calls that wait for input. `select` counts only with a single descriptor, which then is 0. */
const callsOf: Readonly<Record<string, { readonly read: readonly number[]; readonly select: readonly number[] }>> = {
  x64: { read: [0, 19], select: [23, 270] },
  arm64: { read: [63, 65], select: [72] },
};
/** A program with more threads is no shell that waits for a line. */
const mostThreads = 64;
/** The device number of `/dev/tty`: the process's own terminal. */
const ownTerminal = 0x500;

/**
 * Whether a process of the tree waits in a read of the agent's terminal; `null` when it cannot be told. A program with
 * an event loop (Node, most full screens) waits for everything at once and never in a read: for such a program the
 * answer is `false` although it may want a person.
 */
export function readsTerminal(members: readonly ProcessInfo[], terminal: number): boolean | null {
  if (terminal === 0) return false;
  const answers = members.filter(({ tty }) => tty === terminal).map((member) => doesRead(member, terminal));
  return answers.includes(true) || (answers.includes(null) ? null : false);
}

function doesRead({ pid, threads }: ProcessInfo, terminal: number): boolean | null {
  if (threads > mostThreads) return false;
  const running = attempt(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const answers = running.map((thread) => threadReads(pid, thread, terminal));
  return answers.includes(true) || (answers.includes(null) ? null : false);
}

function threadReads(pid: number, thread: string, terminal: number): boolean | null {
  const call = read(`/proc/${pid}/task/${thread}/syscall`);
  if (call === "gone") return false;
  const numbers = callsOf[process.arch];
  if (call === "hidden" || numbers === undefined) return guessFromKernel(pid, thread);
  const descriptor = waitsFor(call.split(" ").map(Number), numbers);
  return descriptor === null ? false : isTerminal(pid, descriptor, terminal);
}

/** The descriptor that a call waits for without a timeout; `null` for every other call, and for `running`. */
function waitsFor([call = Number.NaN, ...args]: readonly number[], numbers: (typeof callsOf)[string]): number | null {
  if (numbers.read.includes(call)) return args[0] ?? null;
  const [count, input, , , timeout] = args;
  return numbers.select.includes(call) && count === 1 && input !== 0 && timeout === 0 ? 0 : null;
}

/** The function of the kernel that a thread waits in. Newer kernels name the same one for sockets. */
function guessFromKernel(pid: number, thread: string): boolean | null {
  const place = read(`/proc/${pid}/task/${thread}/wchan`);
  if (place === "gone") return false;
  if (place === "n_tty_read") return true;
  return /^(0|hidden|wait_woken|.*select.*|poll_schedule_timeout.*)$/.test(place) ? null : false;
}

function isTerminal(pid: number, descriptor: number, terminal: number): boolean | null {
  const path = `/proc/${pid}/fd/${descriptor}`;
  try {
    // A file elsewhere is not looked at: its file system may hang.
    if (!readlinkSync(path).startsWith("/dev/")) return false;
    const { rdev } = statSync(path);
    return rdev === terminal || rdev === ownTerminal;
  } catch (error) {
    return isGone(error) ? false : null;
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    return isGone(error) ? "gone" : "hidden";
  }
}

const isGone = (error: unknown): boolean => ["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "");
