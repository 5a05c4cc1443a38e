import { describeDuration, type MonoMs, seconds } from "@rouse/contract";
import type { ErrorClass, TerminalFacts } from "../terminal-facts.ts";
import { conclude, type Detector, nothing } from "./look.ts";
import { linesThatMove } from "./moved-since.ts";
import { ifSeen } from "./stale-work.ts";

/** New lines beside each error that make it ordinary work (test runs, edits) instead of a loop. */
const novelPerError = 4;

/** The same class of error again and again. With little else new in between it goes round in circles; otherwise it is a warning. */
export const findRepeatedError: Detector = (record, { now, policy }) => {
  const { terminal } = record.seen;
  if (terminal === null || terminal.errors.length === 0) return nothing;
  const { repeatedErrors: threshold, repeatedErrorWindow: window } = policy.terminal;
  const until = knownUntil(terminal);
  const repeated = terminal.errors
    .map((known) => countError(known, terminal.novel, Math.min(now, until) - window))
    .filter((one) => one !== null && one.times >= threshold) as CountedError[];
  const worst = repeated.toSorted((a, b) => Number(b.circles) - Number(a.circles) || b.times - a.times)[0];
  if (worst === undefined) return nothing;
  const { times, circles, novel, from, digest } = worst;
  return {
    finding: conclude(record, now, {
      kind: "repeated-error",
      level: circles ? "stuck" : "degraded",
      confidence: circles ? 0.7 : 0.4,
      class: "repetition",
      text: `the same error ${times} times in ${describeDuration(now - from)}${circles ? " and little else new" : ", but other output is new"}`,
      evidence: { times, newLines: novel, errorClass: digest },
    }),
    lookAgainAt: ifSeen(Math.min(...repeated.map((one) => one.from)) + window, until),
  };
};

/** A holder speaks every ten seconds. What it has not told yet has not been seen to be any better; of one that is lost nothing more will come. */
const knownUntil = ({ seenAt, holder }: TerminalFacts): MonoMs =>
  holder === "lost" ? Number.POSITIVE_INFINITY : seenAt + seconds(30);

interface CountedError {
  readonly digest: string;
  readonly times: number;
  readonly from: MonoMs;
  readonly novel: number;
  readonly circles: boolean;
}

/** Expire first, then count. */
function countError({ digest, seen }: ErrorClass, novelNow: number, after: MonoMs): CountedError | null {
  const recent = seen.filter((one) => one.at > after);
  const first = recent[0];
  if (first === undefined) return null;
  const novel = novelNow - first.novel;
  // Who has come upon something new since it last came by has left the circle, whatever it did before.
  const hasLeft = novelNow - (recent.at(-1)?.novel ?? 0) >= linesThatMove;
  const circles = !hasLeft && novel < novelPerError * recent.length;
  return { digest, times: recent.length, from: first.at, novel, circles };
}
