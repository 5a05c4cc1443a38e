import type { ExitStatus } from "@rouse/contract";
import { readAllProcesses, readProcess } from "../processes/read-processes.ts";
import type { Size } from "../protocol/messages.ts";
import type { Spec } from "../protocol/spec.ts";
import type { AgentProcess, Ended, Stream } from "./agent-process.ts";
import type { KeptScreen } from "./keep-screen.ts";

/** An agent's terminal and the people who have it open. Between pipes there is neither. */
export interface TendedTerminal {
  readonly screen: KeptScreen | null;
  /** The screen for a terminal that attaches. */
  readonly paint: (() => Promise<string>) | null;
  size(): Size;
  /** How many terminals people have open on it. */
  attached(): number;
  /** Keys of a person: they count when the end of the agent is explained. */
  type(bytes: Buffer): void;
  /** A person has begun a line and not ended it, as far as their keys tell. */
  midLine(): boolean;
  /** Since a person last pressed a key; since the start when none has. */
  untouchedMs(): number;
  /** Resizes to the smallest open terminal; keeps the size when none is open. */
  fit(): Size;
  /** `end` asks the whole tree to end, and kills it when it does not. */
  begin(agent: AgentProcess, others: () => readonly Size[], end: () => void): void;
  judge(ended: Ended, ordered: boolean): ExitStatus;
  /** A person sits in front of `rouse run`, or something reads from it, and it should end with the agent. */
  waitedFor(): boolean;
  /** Gives back the terminal the agent was started from, with a last line of ours. */
  end(exit: ExitStatus, lastWord: string | null): Promise<void>;
}

/** Enter, and the keys that throw a line away: Ctrl-C, Ctrl-D, Ctrl-U, Ctrl-\ */
const lineEnds: readonly number[] = [0x0d, 0x0a, 0x03, 0x04, 0x15, 0x1c];

export async function tendTerminal(spec: Spec, near: Foreground | null): Promise<TendedTerminal> {
  const hasTerminal = spec.io === "terminal";
  let agent: AgentProcess | null = null;
  let others: () => readonly Size[] = () => [];
  let size: Size = { cols: spec.cols, rows: spec.rows };
  let typedAt: number | null = null;
  let hungUpAt: number | null = null;
  let hangUpSent = false;
  let terminated = false;
  let endTree: () => void = () => {};
  let midLine = false;
  let touchedAt = performance.now();
  const screen = hasTerminal ? (await import("./keep-screen.ts")).keepScreen(size, reply) : null;

  /** Programs ask their terminal questions, and some wait for the answer. People's terminals answer by themselves. */
  function reply(bytes: Buffer): void {
    if (sizes().length === 0) agent?.write(bytes);
  }

  function sizes(): Size[] {
    const here = hasTerminal && hungUpAt === null ? (near?.size() ?? null) : null;
    return here === null ? [...others()] : [...others(), here];
  }

  function fit(): Size {
    const all = sizes();
    if (all.length === 0) return size;
    const cols = Math.min(...all.map((each) => each.cols));
    const rows = Math.min(...all.map((each) => each.rows));
    if (cols === size.cols && rows === size.rows) return size;
    size = { cols, rows };
    agent?.resize(cols, rows);
    screen?.resize(cols, rows);
    return size;
  }

  function type(bytes: Buffer): void {
    touchedAt = performance.now();
    if (endsPrograms(bytes)) typedAt = performance.now();
    const last = bytes.at(-1);
    if (last !== undefined) midLine = !lineEnds.includes(last);
    agent?.write(bytes);
    if (hasTerminal && agent !== null) wakeSuspended(agent.pid, bytes);
  }

  const handle: Handle = {
    type,
    resize: () => void fit(),
    signal: (name) => agent?.kill(name),
    interrupted() {
      typedAt = performance.now();
    },
    hangUp(sent) {
      hungUpAt = performance.now();
      hangUpSent = sent;
      agent?.hangUp();
      agent?.resume();
    },
    terminate() {
      terminated = true;
      endTree();
    },
    pause: () => agent?.pause(),
    resume: () => agent?.resume(),
  };

  return {
    screen,
    paint: screen === null ? null : () => screen.settle(() => screen.picture()),
    size: () => size,
    attached: () => sizes().length,
    type,
    midLine: () => (hasTerminal ? midLine : (agent?.midLine() ?? false)),
    untouchedMs: () => performance.now() - touchedAt,
    fit,
    begin(started, otherSizes, end) {
      agent = started;
      others = otherSizes;
      endTree = end;
      near?.begin(handle);
      fit();
    },
    judge: (ended, ordered) =>
      judgeExit(ended, { ordered, typedAt, hungUpAt, hangUpSent, terminated }, performance.now()),
    waitedFor: () => near !== null && hungUpAt === null && !terminated,
    async end({ signal }, lastWord) {
      const fullScreen = (await screen?.settle(() => screen.screen().alternate)) ?? false;
      await near?.end({ killed: signal !== null, fullScreen, lastWord });
    },
  };
}

/** What a person at the terminal an agent was started from can do to it. */
export interface Handle {
  type(bytes: Buffer): void;
  resize(size: Size): void;
  /** A signal that was sent to us and is meant for the agent. */
  signal(name: NodeJS.Signals): void;
  /** A key that interrupts was pressed, and the terminal has told the agent itself. */
  interrupted(): void;
  /** `rouse run` was told to end, and the agent ends with it. */
  terminate(): void;
  /**
   * The terminal is gone, or the reader of the output. `sent`: only the signal came, and the terminal is still there.
   */
  hangUp(sent: boolean): void;
  pause(): void;
  resume(): void;
}

/** Where `rouse run` was typed. */
export interface Foreground {
  /** `null` when it is no terminal. */
  size(): Size | null;
  begin(handle: Handle): void;
  show(stream: Stream, bytes: Buffer): void;
  /** Shows what is still waiting and restores the terminal. */
  end(how: { readonly killed: boolean; readonly fullScreen: boolean; readonly lastWord: string | null }): Promise<void>;
}

/** What was done to an agent from outside, as far as we know. Times are in ms of one clock; `null`: never. */
export interface Meddling {
  /** An order to stop it was being carried out. */
  readonly ordered: boolean;
  /** When a person last typed something that ends programs. */
  readonly typedAt: number | null;
  /** When the terminal it was started from went away, or the reader of its output. */
  readonly hungUpAt: number | null;
  /** Only the signal came, and the terminal is still there: then nobody closed it. */
  readonly hangUpSent: boolean;
  /** `rouse run` was told to end by a signal, which comes from a script, a time limit or another program. */
  readonly terminated: boolean;
}

const latelyMs = 5000;
/** How long programs may take to tidy up when their terminal is gone. */
const tidyingMs = 30_000;
/** Ctrl-C, Ctrl-D, Ctrl-\ */
const endings = [0x03, 0x04, 0x1c];

export const endsPrograms = (typed: Buffer): boolean => endings.some((key) => typed.includes(key));

export function judgeExit({ code, signal }: Ended, meddling: Meddling, now: number): ExitStatus {
  const { ordered, typedAt, hungUpAt, hangUpSent, terminated } = meddling;
  const interrupted = signal === "SIGINT" || signal === "SIGQUIT" || code === 130 || code === 131;
  // Some programs end properly when interrupted (Claude Code's `-p` does). One that failed a moment after a key may
  // have failed for any reason.
  const typed = (interrupted || code === 0) && typedAt !== null && now - typedAt <= latelyMs;
  const leftAlone = hungUpAt !== null && (signal === "SIGHUP" || code === 129 || now - hungUpAt <= tidyingMs);
  if (ordered) return { code, signal, cause: "stopped" };
  if (typed || (leftAlone && !hangUpSent)) return { code, signal, cause: "person" };
  return { code, signal, cause: leftAlone || terminated || signal !== null ? "killed" : "by-itself" };
}

/** Ctrl-Z, plain and as terminals with the extended keyboard protocol send it. */
const suspends = [Buffer.from([0x1a]), Buffer.from("\x1b[122;5u")];

/**
 * A moment for the program to leave its screen and stop; on a busy machine that takes longer. A program that already
 * goes on does not notice the second signal.
 */
const wakeAfterMs = [300, 2000];

/**
 * Resumes a program that was suspended with Ctrl-Z. It leads the session of its terminal, there is no shell that could
 * say `fg`, and it would wait for ever. So it is told at once to go on, and draws its screen again. `pid`: the agent's.
 */
function wakeSuspended(pid: number, typed: Buffer): void {
  if (!suspends.some((key) => typed.includes(key))) return;
  for (const delay of wakeAfterMs) setTimeout(wake, delay, pid).unref();
}

function wake(pid: number): void {
  const group = groupToWake(pid);
  if (group === null) return;
  try {
    process.kill(-group, "SIGCONT");
  } catch {
    // Gone meanwhile, or not ours to signal.
  }
}

/**
 * The process group in the foreground of an agent's terminal, unless a shell there takes care of its own jobs. `null`
 * also when the agent has no terminal of its own.
 */
export function groupToWake(pid: number): number | null {
  const agent = readProcess(pid);
  if (agent === null || agent.session !== pid || agent.foreground <= 1) return null;
  const inside = readAllProcesses().filter(({ session }) => session === pid);
  const members = inside.filter(({ pgid }) => pgid === agent.foreground);
  const groups = new Map(inside.map((each) => [each.pid, each.pgid]));
  const hasShell = members.some(({ ppid, pgid }) => groups.has(ppid) && groups.get(ppid) !== pgid);
  return members.length === 0 || hasShell ? null : agent.foreground;
}
