import type { ExitStatus } from "@rouse/contract";
import type { Ended } from "./agent-process.ts";

/** What was done to an agent from outside, as far as we know. Times are in ms of one clock; `null`: never. */
export interface Meddling {
  /** An order to stop it was being carried out. */
  readonly ordered: boolean;
  /** When a person last typed something that ends programs. */
  readonly typedAt: number | null;
  /** When the terminal it was started from went away, or whoever read from it. */
  readonly hungUpAt: number | null;
  /** Only the signal of that came, and the terminal is still there: then it was nobody who closed it. */
  readonly hangUpSent: boolean;
  /** `rouse run` was told to end by a signal. Nobody types one: a script, a time limit, another program may have sent it. */
  readonly terminated: boolean;
}

const latelyMs = 5000;
/** Programs take this long to tidy up when their terminal is gone. */
const tidyingMs = 30_000;
/** Ctrl-C, Ctrl-D, Ctrl-\ */
const endings = [0x03, 0x04, 0x1c];

export const endsPrograms = (typed: Buffer): boolean => endings.some((key) => typed.includes(key));

export function judgeExit({ code, signal }: Ended, meddling: Meddling, now: number): ExitStatus {
  const { ordered, typedAt, hungUpAt, hangUpSent, terminated } = meddling;
  const interrupted = signal === "SIGINT" || signal === "SIGQUIT" || code === 130 || code === 131;
  // Some take an interrupt for a proper end (Claude Code's `-p` does). One that failed a moment after a key may have done so for any reason.
  const typed = (interrupted || code === 0) && typedAt !== null && now - typedAt <= latelyMs;
  const leftAlone = hungUpAt !== null && (signal === "SIGHUP" || code === 129 || now - hungUpAt <= tidyingMs);
  if (ordered) return { code, signal, cause: "stopped" };
  if (typed || (leftAlone && !hangUpSent)) return { code, signal, cause: "person" };
  return { code, signal, cause: leftAlone || terminated || signal !== null ? "killed" : "by-itself" };
}
