import type { ExitStatus } from "@rouse/contract";
import type { Ended } from "./agent-process.ts";

/** What was done to an agent from outside, as far as we know. Times are in ms of one clock; `null`: never. */
export interface Meddling {
  /** An order to stop it was being carried out. */
  readonly ordered: boolean;
  /** When a person last typed something that ends programs. */
  readonly typedAt: number | null;
  /** When the terminal it was started from went away. */
  readonly hungUpAt: number | null;
  /** Whoever ended `rouse run` ended it. */
  readonly terminated: boolean;
}

const latelyMs = 5000;
/** Programs take this long to tidy up when their terminal is gone. */
const tidyingMs = 30_000;
/** Ctrl-C, Ctrl-D, Ctrl-\ */
const endings = [0x03, 0x04, 0x1c];

export const endsPrograms = (typed: Buffer): boolean => endings.some((key) => typed.includes(key));

export function judgeExit({ code, signal }: Ended, meddling: Meddling, now: number): ExitStatus {
  const { ordered, typedAt, hungUpAt, terminated } = meddling;
  const interrupted = signal === "SIGINT" || signal === "SIGQUIT" || code === 130 || code === 131;
  // Some take an interrupt for a proper end (Claude Code's `-p` does). One that failed a moment after a key may have done so for any reason.
  const typed = (interrupted || code === 0) && typedAt !== null && now - typedAt <= latelyMs;
  const leftAlone = hungUpAt !== null && (signal === "SIGHUP" || code === 129 || now - hungUpAt <= tidyingMs);
  if (ordered) return { code, signal, cause: "stopped" };
  if (typed || leftAlone || terminated) return { code, signal, cause: "person" };
  return { code, signal, cause: signal === null ? "by-itself" : "killed" };
}
