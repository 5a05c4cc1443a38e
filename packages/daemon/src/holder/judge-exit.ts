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
}

const latelyMs = 5000;
/** Ctrl-C, Ctrl-D, Ctrl-\ */
const endings = [0x03, 0x04, 0x1c];

export const endsPrograms = (typed: Buffer): boolean => endings.some((key) => typed.includes(key));

export function judgeExit({ code, signal }: Ended, { ordered, typedAt, hungUpAt }: Meddling, now: number): ExitStatus {
  const lately = (at: number | null): boolean => at !== null && now - at <= latelyMs;
  const interrupted = signal === "SIGINT" || signal === "SIGQUIT" || code === 130 || code === 131;
  const leftAlone = hungUpAt !== null && (signal === "SIGHUP" || code === 129 || lately(hungUpAt));
  if (ordered) return { code, signal, cause: "stopped" };
  if ((interrupted && lately(typedAt)) || leftAlone) return { code, signal, cause: "person" };
  return { code, signal, cause: signal === null ? "by-itself" : "killed" };
}
