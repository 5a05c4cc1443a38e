import { type DurationMs, describeDuration, type MonoMs, minutes } from "@rouse/contract";
import { workedSince } from "../accept/work-clock.ts";
import type { AgentRecord } from "../record.ts";
import type { ErrorClass, TerminalFacts } from "../terminal-facts.ts";
import { conclude, type Detector, earliest, nothing, nothingUntil, wholeSeconds } from "./look.ts";
import { ageOf, seenUntil } from "./stale-work.ts";

/** CPU or IO this lately is work going on. */
const busyWithin: DurationMs = minutes(2);

/**
 * No output that is more than a repaint. Quiet processes make it a verdict; a tree at work makes it a warning for as long as children may be waited
 * for; processes nobody could look at never make it more than a warning.
 */
export const findNoOutput: Detector = (record, now, policy) => {
  const { terminal } = record;
  if (terminal === null || restsOnScreen(terminal)) return nothing;
  const { idle } = policy.terminal;
  const patience = policy.longestWait.children;
  const look = ageOf(record, terminal.output, now, seenUntil(record, policy), [idle, Math.max(idle, patience)]);
  if (look.age < idle) return nothingUntil(look.next);
  const { busy, until } = isBusy(terminal, now);
  const stuck = terminal.tree !== null && (!busy || look.age >= patience);
  return {
    finding: conclude(record, now, {
      kind: "no-output",
      level: stuck ? "stuck" : "degraded",
      confidence: stuck ? (busy ? 0.5 : 0.8) : 0.4,
      class: "no-progress",
      text: `no new output in ${describeDuration(look.age)}${describeTree(terminal, busy)}`,
      evidence: {
        workedSeconds: wholeSeconds(look.age),
        allowedSeconds: wholeSeconds(idle),
        busy: busy ? "yes" : "no",
      },
    }),
    lookAgainAt: earliest(look.next, until),
  };
};

/** An unknown full-screen program at rest looks like one that hangs. */
const restsOnScreen = ({ family, fullScreen }: TerminalFacts): boolean => family === "generic" && fullScreen;

function isBusy({ tree }: TerminalFacts, now: MonoMs): { busy: boolean; until: MonoMs | null } {
  const until = tree === null || tree.busyAt === null ? null : tree.busyAt + busyWithin;
  return until !== null && until > now ? { busy: true, until } : { busy: false, until: null };
}

const describeTree = ({ tree }: TerminalFacts, busy: boolean): string => {
  if (tree === null) return "; its processes could not be looked at";
  return busy ? ", but its processes are at work" : " and its processes are quiet";
};

/** New lines beside each error that make it ordinary work (test runs, edits) instead of a loop. */
const novelPerError = 4;

/** The same class of error again and again. With little else new in between it goes round in circles; otherwise it is a warning. */
export const findRepeatedError: Detector = (record, now, policy) => {
  const { terminal } = record;
  if (terminal === null || terminal.errors.length === 0) return nothing;
  const { repeatedErrors: threshold, repeatedErrorWindow: window } = policy.terminal;
  let worst: { known: ErrorClass; times: number; from: ErrorClass["seen"][number] } | null = null;
  for (const known of terminal.errors) {
    const seen = known.seen.filter((one) => one.at > now - window);
    const from = seen[0];
    if (from !== undefined && seen.length >= threshold && seen.length > (worst?.times ?? 0))
      worst = { known, times: seen.length, from };
  }
  if (worst === null) return nothing;
  const novel = terminal.novel - worst.from.novel;
  const circles = novel < novelPerError * worst.times;
  return {
    finding: conclude(record, now, {
      kind: "repeated-error",
      level: circles ? "stuck" : "degraded",
      confidence: circles ? 0.7 : 0.4,
      class: "explicit-error",
      text: `the same error ${worst.times} times in ${describeDuration(now - worst.from.at)}${circles ? " and little else new" : ", but other output is new"}`,
      evidence: { times: worst.times, newLines: novel, errorClass: worst.known.digest },
    }),
    lookAgainAt: worst.from.at + window,
  };
};

/** Tokens worth a word when nothing came of them. */
const noticeableTokens = 50_000;

/** Tokens are being spent and nothing new comes of it. It may be a hard problem: somebody should look, nobody should act. */
export const findTokenBurn: Detector = (record, now, policy) => {
  const { terminal, facts } = record;
  if (terminal === null || facts.progress === null || facts.tokens === null) return nothing;
  const look = ageOf(record, facts.progress, now, seenUntil(record, policy), [policy.staleDegraded]);
  if (look.age < policy.staleDegraded) return nothingUntil(look.next);
  const burnt = (facts.tokenCount ?? 0) - (terminal.tokensAtProgress ?? facts.tokenCount ?? 0);
  const spending = workedSince(record, facts.tokens, now) < policy.staleDegraded;
  if (burnt < noticeableTokens || !spending) return nothing;
  return {
    finding: conclude(record, now, {
      kind: "token-burn",
      level: "degraded",
      confidence: 0.5,
      class: "no-progress",
      text: `${burnt} tokens spent in ${describeDuration(look.age)} without a new fact`,
      evidence: { tokens: burnt, workedSeconds: wholeSeconds(look.age) },
    }),
    lookAgainAt: null,
  };
};

/**
 * Its turn ended and it never said that the work is done. Only with a task and nobody at its terminal: a person's session at its prompt is waiting
 * for that person.
 */
export const findCompletionTimeout: Detector = (record, now, policy) => {
  const { terminal } = record;
  if (terminal === null || terminal.turnEndedAt === null || terminal.completedAt !== null) return nothing;
  if (record.taskId === null || terminal.foreground || terminal.attached > 0) return nothing;
  if (terminal.asks !== null && terminal.asks.what !== "prompt") return nothing;
  const due = terminal.turnEndedAt.at + policy.terminal.completion;
  if (now < due) return nothingUntil(due);
  const waited = now - terminal.turnEndedAt.at;
  return {
    finding: conclude(record, now, {
      kind: "completion-timeout",
      level: "stuck",
      confidence: 0.8,
      class: "no-progress",
      text: `its turn ended ${describeDuration(waited)} ago without the completion marker`,
      evidence: { waitedSeconds: wholeSeconds(waited), allowedSeconds: wholeSeconds(policy.terminal.completion) },
    }),
    lookAgainAt: null,
  };
};

/** It ran into its context limit and nothing new was written since: no hand-off, no compaction. */
export const findContextExhausted: Detector = (record, now, policy) => {
  const { terminal } = record;
  if (terminal === null || terminal.contextLimitAt === null) return nothing;
  const age = now - terminal.contextLimitAt;
  const wroteSince = terminal.output.at - terminal.contextLimitAt;
  const stuckAt = terminal.contextLimitAt + policy.terminal.completion;
  const stuck = now >= stuckAt && wroteSince < policy.terminal.completion / 2;
  return {
    finding: conclude(record, now, {
      kind: "context-exhausted",
      level: stuck ? "stuck" : "degraded",
      confidence: stuck ? 0.7 : 0.5,
      class: "explicit-error",
      text: `it reached its context limit ${describeDuration(age)} ago`,
      evidence: { sinceSeconds: wholeSeconds(age) },
    }),
    lookAgainAt: now < stuckAt ? stuckAt : null,
  };
};

const spinsAfter = 12;

/** The same file over and over. It proves little, so it is only ever shown. */
export const findSpinning: Detector = (record, now) => {
  const file = record.terminal?.file ?? null;
  if (file === null || file.times < spinsAfter) return nothing;
  return {
    finding: conclude(record, now, {
      kind: "spinning-on-file",
      level: "note",
      confidence: 0.3,
      class: "no-progress",
      text: `the same file ${file.times} times in a row`,
      evidence: { times: file.times, file: file.digest },
    }),
    lookAgainAt: null,
  };
};

/** Shown while it lasts, so that nobody wonders about the quiet. */
export const findRateLimit: Detector = (record, now) => {
  const { terminal, activity } = record;
  if (terminal === null || activity.kind !== "WAITING" || activity.for !== "provider") return nothing;
  const waited = now - activity.since;
  return {
    finding: conclude(record, now, {
      kind: "rate-limited",
      level: "note",
      confidence: 0.9,
      class: "self-report",
      text: `its provider has put it off for ${describeDuration(waited)}`,
      evidence: { waitedSeconds: wholeSeconds(waited), times: terminal.rateLimits },
    }),
    lookAgainAt: null,
  };
};

/** The process is gone without having finished. Nothing else about it matters any more. */
export const findProcessExit: Detector = (record, now) => {
  const exit = record.terminal?.exit ?? null;
  if (exit === null || record.activity.kind === "FINISHED" || exit.cause === "stopped") return nothing;
  return {
    finding: conclude(record, now, {
      kind: "process-exited",
      level: "unresponsive",
      confidence: exit.cause === "unseen" ? 0.9 : 1,
      class: "process",
      text: describeExit(exit),
      evidence: { code: exit.code ?? "unknown", signal: exit.signal ?? "none", cause: exit.cause },
    }),
    lookAgainAt: null,
  };
};

function describeExit({ code, signal, cause }: NonNullable<TerminalFacts["exit"]>): string {
  if (cause === "unseen") return "its process is gone and nobody saw how it ended";
  if (signal !== null) return `its process was ended by ${signal}`;
  return `its process ended with status ${code}`;
}

/** The process lives, but nobody keeps its terminal any more. */
export const findHolderLost: Detector = (record, now) => {
  const { terminal } = record;
  if (terminal === null || terminal.holder === "here" || terminal.exit !== null) return nothing;
  return {
    finding: conclude(record, now, {
      kind: "holder-lost",
      level: "degraded",
      confidence: 0.9,
      class: "process",
      text: "its process lives, but the holder of its terminal is gone",
      evidence: { pid: terminal.pid },
    }),
    lookAgainAt: null,
  };
};

/** Whether its own process is over, whoever ended it. */
export const isOver = (record: AgentRecord): boolean => record.terminal !== null && record.terminal.exit !== null;

export const wasStopped = (record: AgentRecord): boolean => record.terminal?.exit?.cause === "stopped";
