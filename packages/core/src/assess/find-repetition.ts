import {
  type DurationMs,
  describeDuration,
  type EvidenceClass,
  type LoopKind,
  type MonoMs,
  seconds,
} from "@rouse/contract";
import type { Context } from "../context.ts";
import type { AgentRecord, Finding } from "../record.ts";
import { findLoops, hasMoved, type Loop } from "../steps/find-loops.ts";
import type { ErrorClass, TerminalFacts } from "../terminal-facts.ts";
import { conclude, type Detector, found, nothing } from "./look.ts";
import { isLoop, linesThatMove } from "./moved-since.ts";
import { ifSeen } from "./stale-work.ts";

/** Everything in an agent's steps that repeats. Without a new step, the earlier findings stand. */
export function findRepetition(before: AgentRecord, record: AgentRecord, { now, policy }: Context): readonly Finding[] {
  if (record.seen.steps === null) return none;
  const burn = findTokensWithoutNews(record, now);
  const loops = hasMoved(before.seen.steps, record.seen.steps)
    ? findLoops(record.seen.steps, policy.loops).map((loop) => describe(loop, record, now))
    : record.health.findings.filter(({ kind }) => isLoop(kind));
  return burn === null ? loops : [...loops, burn];
}

const none: readonly Finding[] = [];

/** A long answer costs some thousands of tokens; this is many of them. */
export const noticeableTokens = 50_000;

/**
 * Tokens are spent and nothing new comes. It tells what a loop costs, not that there is one. An agent in a terminal is
 * measured by its work clock instead.
 */
function findTokensWithoutNews(record: AgentRecord, now: MonoMs): Finding | null {
  const { tokens, tokensAtNews } = record.seen.steps ?? unknown;
  if (record.seen.terminal !== null || tokens === null || tokensAtNews === null) return null;
  const burnt = tokens - tokensAtNews;
  if (burnt < noticeableTokens) return null;
  return conclude(record, now, {
    kind: "token-burn",
    level: "note",
    confidence: 0.5,
    class: "absence",
    text: `${burnt} tokens spent since it last did or learnt something new`,
    evidence: { tokens: burnt },
  });
}

const unknown = { tokens: null, tokensAtNews: null };

interface Wording {
  readonly class: EvidenceClass;
  /** Confidence of a verdict; a suspicion has half. */
  readonly confidence: number;
  readonly say: (times: number) => string;
}

const wordings: Readonly<Record<LoopKind, Wording>> = {
  "identical-step": {
    class: "repetition",
    confidence: 0.95,
    say: (n) => `the same call with the same result ${n} times, and no edit was seen in between`,
  },
  "identical-call": { class: "repetition", confidence: 0.9, say: (n) => `the same call ${n} times in a row` },
  "identical-change": {
    class: "repetition",
    confidence: 0.95,
    say: (n) => `the very same change applied ${n} times in a row`,
  },
  cycle: { class: "repetition", confidence: 0.9, say: (n) => `the same few steps ${n} times over` },
  "error-class": {
    class: "repetition",
    confidence: 0.9,
    say: (n) => `the same class of error ${n} times in a row, whatever was tried`,
  },
  "error-streak": { class: "repetition", confidence: 0.8, say: (n) => `${n} failures in a row` },
  "blocked-call": {
    class: "repetition",
    confidence: 0.8,
    say: (n) => `one call failed the same way ${n} times, whatever was changed in between`,
  },
  "replies-only": { class: "repetition", confidence: 0.8, say: (n) => `${n} replies in a row without a tool call` },
  "same-words": {
    class: "repetition",
    confidence: 0.8,
    say: (n) => `the same message ${n} times with nothing new done in between`,
  },
  "no-novelty": {
    class: "repetition",
    confidence: 0.85,
    say: (n) => `${n} steps in a row with neither a new call nor a new result`,
  },
  "stale-results": {
    class: "repetition",
    confidence: 0.8,
    say: (n) => `${n} of its last 20 steps brought a result it had already seen, and no edit was seen`,
  },
};

/** How many of the steps are named as evidence. */
const mostShown = 12;

function describe({ kind, level, times, events }: Loop, record: AgentRecord, now: MonoMs): Finding {
  const { class: evidenceClass, confidence, say } = wordings[kind];
  const stuck = level === "stuck";
  const waits = mayBeWaiting(record, events);
  return conclude(record, now, {
    kind,
    level: stuck ? "stuck" : "note",
    confidence: stuck ? confidence : confidence / 2,
    class: evidenceClass,
    text: `${say(times)}${waits ? ", at the pace of somebody who waits" : ""}`,
    evidence: { times, events: events.slice(-mostShown).join(" "), ...(waits ? { waits: "yes" } : {}) },
  });
}

/** A call that takes this long, or comes this rarely, may check whether something has changed. */
const slowCall: DurationMs = seconds(2);
const rareCall: DurationMs = seconds(20);

/**
 * Each repeated call waits, or the next one follows only after a while: the agent watches a queue, a build, a
 * deployment. A check that is not met yet fails, so failures say nothing here.
 */
function mayBeWaiting({ seen: { steps } }: AgentRecord, events: readonly number[]): boolean {
  const shown = new Set(events);
  const repeated = steps?.steps.filter(({ event }) => shown.has(event)) ?? [];
  if (repeated.length < 2) return false;
  return repeated.every(({ at, took }, i) => {
    const before = repeated[i - 1]?.at;
    const pause = at === undefined || before === undefined ? Number.POSITIVE_INFINITY : at - before;
    return (took ?? 0) >= slowCall || pause >= rareCall;
  });
}

/** Errors of the provider in a row that are worth a word. */
const severalErrors = 3;

/** Errors of the provider are its trouble, not the agent's standstill. */
export function findApiErrors(record: AgentRecord, now: MonoMs): Finding | null {
  const errors = record.seen.steps?.apiErrors ?? null;
  if (errors === null || errors.times < severalErrors) return null;
  return conclude(record, now, {
    kind: "api-errors",
    level: "note",
    confidence: 0.9,
    class: "explicit-error",
    text: `${errors.times} errors of its provider in a row`,
    evidence: { times: errors.times, sinceSeconds: Math.floor((now - errors.since) / 1000) },
  });
}

/** New lines beside each error that make it ordinary work (test runs, edits) instead of a loop. */
const novelPerError = 4;

/** The same class of error again and again. With little else new in between it is a loop, otherwise a warning. */
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
  return found(record, now, ifSeen(Math.min(...repeated.map((one) => one.from)) + window, until), {
    kind: "repeated-error",
    level: circles ? "stuck" : "degraded",
    confidence: circles ? 0.7 : 0.4,
    class: "repetition",
    text: `the same error ${times} times in ${describeDuration(now - from)}${circles ? " and little else new" : ", but other output is new"}`,
    evidence: { times, newLines: novel, errorClass: digest },
  });
};

/** A holder reports every ten seconds; nothing is known beyond its last report. Of a lost holder no more will come. */
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
  // An agent that wrote something new since the last error has left the circle.
  const hasLeft = novelNow - (recent.at(-1)?.novel ?? 0) >= linesThatMove;
  const circles = !hasLeft && novel < novelPerError * recent.length;
  return { digest, times: recent.length, from: first.at, novel, circles };
}
