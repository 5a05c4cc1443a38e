import {
  type DurationMs,
  describeDuration,
  type HolderLoss,
  type MonoMs,
  type Policy,
  type Restraint,
  seconds,
} from "@rouse/contract";
import { hasOutlivedLimit } from "../accept/read-sights.ts";
import { patienceWith } from "../accept/work-clock.ts";
import type { Context } from "../context.ts";
import { endedAtLimit, heldByLimit, isKilled, isStanding } from "../limit.ts";
import type { AgentRecord, Finding } from "../record.ts";
import { runsOnce } from "../restart-rule.ts";
import { lacksMarker, type TerminalFacts } from "../terminal-facts.ts";
import { noticeableTokens } from "./find-repetition.ts";
import { type Detector, earliest, found, type Look, nothing, nothingUntil, wholeSeconds } from "./look.ts";
import { describeWork, mayBeBuilding, stateOfTree, type TreeState } from "./process-tree.ts";
import { ageOf, freshness, seenUntil } from "./stale-work.ts";

/**
 * No output beyond repaints. With quiet processes it is a verdict; with busy ones a warning, within the longest wait
 * for children. It stays a warning where nobody could look at the processes, and for an agent that tells of its work in
 * other ways.
 */
export const findNoOutput: Detector = (record, { now, policy }) => {
  const { terminal } = record.seen;
  if (terminal === null || terminal.holder === "lost" || restsOnScreen(terminal)) return nothing;
  const idle = idleAllowed(record, policy);
  const patience = policy.longestWait.children;
  // Quiet counts only as far as the holder has looked.
  const seen = Math.min(seenUntil(record, policy), terminal.seenAt);
  const worked = ageOf(record, terminal.output, now, seen, [idle, Math.max(idle, patience)]);
  const look = { ...worked, age: Math.max(worked.age, ruledRest(record, seen, policy)) };
  if (look.age < idle) return { finding: foundBefore(record, terminal, now), lookAgainAt: look.next };
  const others = freshness(record, record.seen.facts.progress, now, seen, idle);
  const tree = stateOfTree(record, policy);
  const busy = tree.kind === "busy";
  const stands = tree.kind === "unknown" ? stoodStill(record, terminal) : !mayBeBuilding(tree, look.age, policy);
  const restUntil = ruledRestEnds(record, policy);
  const rests = restUntil === null || now >= restUntil;
  // Processes that compute for longer than the longest wait for children are asked about. A stir puts off the owner's
  // rule, but makes nobody well.
  const stuck = stands && !others.fresh && (rests || busy || stoodStill(record, terminal));
  const quietAt = busy && tree.until > now ? tree.until : null;
  const lookAgainAt = earliest(earliest(look.next, others.staleAt), earliest(quietAt, rests ? null : restUntil));
  return found(record, now, lookAgainAt, {
    kind: "no-output",
    level: stuck ? "stuck" : "degraded",
    confidence: stuck ? (busy ? 0.5 : 0.8) : tree.kind === "unknown" && !others.fresh ? 0.5 : 0.4,
    class: "absence",
    text: `no new output in ${describeDuration(look.age)}${others.fresh ? ", but other work goes on" : describeTree(tree, terminal)}`,
    evidence: {
      workedSeconds: wholeSeconds(look.age),
      allowedSeconds: wholeSeconds(idle),
      busy: tree.kind === "unknown" ? "unknown" : busy ? "yes" : "no",
      ...(others.fresh || !rests ? { goesOn: "yes" } : {}),
    },
  });
};

/**
 * Announced idling or waiting stops the work clock, but not the owner's idle rule. A question, a limit and an open tool
 * do.
 */
function ruledRest(record: AgentRecord, seen: MonoMs, policy: Policy): DurationMs {
  const { activity } = record.work;
  const { terminal, limit } = record.seen;
  const restsBy = terminal?.asks === null && terminal.wait === null && !isStanding(limit);
  const isIdle =
    activity.kind === "IDLE" ||
    (activity.kind === "WAITING" && (activity.for === "children" || activity.for === "schedule"));
  const ends = restsBy && isIdle ? ruledRestEnds(record, policy) : null;
  return ends === null || seen < ends ? 0 : seen - ends + idleAllowed(record, policy);
}

/** A finding from before an unwatched time stands until the holder has looked at what came since. */
function foundBefore(
  { health: { findings }, work }: AgentRecord,
  { seenAt, output }: TerminalFacts,
  now: MonoMs,
): Finding | null {
  const { resumesAt } = work.clock;
  if (resumesAt === null || resumesAt > now || resumesAt <= seenAt) return null;
  return findings.find(({ kind, since }) => kind === "no-output" && since > output.at) ?? null;
}

/** The owner's idle rule counts as given. Otherwise the agent's own history can add patience. */
function idleAllowed(record: AgentRecord, { terminal }: Policy): DurationMs {
  const ruled = record.seen.terminal?.idleKill ?? (terminal.stopOnIdle ? terminal.idle : null);
  return ruled ?? patienceWith(record, terminal.idle);
}

/** When the owner's idle rule applies: any sign of work counts, not only lines. `null`: there is no such rule. */
function ruledRestEnds(record: AgentRecord, { terminal: { stopOnIdle, idle } }: Policy): MonoMs | null {
  const { terminal, facts } = record.seen;
  const ruled = terminal?.idleKill ?? (stopOnIdle ? idle : null);
  if (ruled === null || terminal === null) return null;
  return Math.max(terminal.output.at, terminal.tree?.stirredAt ?? 0, facts.progress?.at ?? 0) + ruled;
}

/** A verdict of quiet processes stands while nobody can look at them, until the agent writes. */
const stoodStill = ({ health: { findings } }: AgentRecord, { output }: TerminalFacts): boolean =>
  findings.some(({ kind, level, since }) => kind === "no-output" && level === "stuck" && since > output.at);

/** An unknown full-screen program at rest looks like one that hangs. */
const restsOnScreen = ({ family, fullScreen }: TerminalFacts): boolean => family === "generic" && fullScreen;

function describeTree({ kind }: TreeState, { tree }: TerminalFacts): string {
  if (kind === "unknown") return "; its processes could not be looked at";
  return kind === "busy" ? describeWork(tree) : " and its processes are quiet";
}

/** Tokens are spent without progress. It may be a hard problem: somebody should look, nobody should act. */
export const findTokenBurn: Detector = (record, { now, policy }) => {
  const { terminal, facts } = record.seen;
  if (terminal === null || facts.progress === null || facts.tokens === null) return nothing;
  const seen = seenUntil(record, policy);
  const look = ageOf(record, facts.progress, now, seen, [policy.staleDegraded]);
  if (look.age < policy.staleDegraded) return nothingUntil(look.next);
  const burnt = (facts.tokenCount ?? 0) - (terminal.tokensAtProgress ?? facts.tokenCount ?? 0);
  const spending = freshness(record, facts.tokens, now, seen, policy.staleDegraded);
  if (burnt < noticeableTokens || !spending.fresh) return nothing;
  return found(record, now, spending.staleAt, {
    kind: "token-burn",
    level: "degraded",
    confidence: 0.5,
    class: "absence",
    text: `${burnt} tokens spent in ${describeDuration(look.age)} without a new fact`,
    evidence: { tokens: burnt, workedSeconds: wholeSeconds(look.age) },
  });
};

/** A holder looks every few seconds. */
const seenLately: DurationMs = seconds(60);

/**
 * The turn ended without the completion marker. Counts only with a task and nobody at the terminal: a person's session
 * waits for that person.
 */
export const findCompletionTimeout: Detector = (record, { now, policy }) => {
  const { terminal } = record.seen;
  if (terminal === null || terminal.turnEndedAt === null || terminal.completedAt !== null) return nothing;
  // At its limit the turn ended for that.
  if (isStanding(record.seen.limit)) return nothing;
  if (record.task.id === null || terminal.foreground || terminal.attached > 0 || terminal.holder === "lost")
    return nothing;
  if (terminal.asks !== null && terminal.asks.what !== "prompt") return nothing;
  if (record.work.activity.kind === "WAITING" && record.work.activity.for !== "input") return nothing;
  // An agent that still writes is not to be stopped, whatever its prompt looked like.
  const since = Math.max(terminal.turnEndedAt.at, terminal.output.at);
  const due = since + policy.terminal.completion;
  if (now < due) return nothingUntil(due);
  // Quiet counts only where the holder looked; a late report is followed by newer ones.
  const isKnown = record.health.findings.some(({ kind }) => kind === "completion-timeout");
  if (terminal.seenAt < due || (!isKnown && terminal.seenAt < now - seenLately)) return nothing;
  const waited = now - since;
  return found(record, now, null, {
    kind: "completion-timeout",
    level: "stuck",
    confidence: 0.8,
    class: "absence",
    text: `its turn ended and ${describeDuration(waited)} passed without the completion marker`,
    evidence: { waitedSeconds: wholeSeconds(waited), allowedSeconds: wholeSeconds(policy.terminal.completion) },
  });
};

/** The agent reached its context limit and wrote nothing new since: no hand-off, no compaction. */
export const findContextExhausted: Detector = (record, { now, policy }) => {
  const { terminal } = record.seen;
  if (terminal === null || terminal.contextLimitAt === null || terminal.holder === "lost") return nothing;
  if (hasOutlivedLimit(terminal, policy)) return nothing;
  const age = now - terminal.contextLimitAt.at;
  const { completion } = policy.terminal;
  const look = ageOf(record, terminal.contextLimitAt, now, seenUntil(record, policy), [completion]);
  // A line about a limit, from an unknown program, may be about anything.
  const stuck = look.age >= completion && terminal.family !== "generic";
  return found(record, now, look.next, {
    kind: "context-exhausted",
    level: stuck ? "stuck" : "degraded",
    confidence: stuck ? 0.7 : 0.5,
    class: "explicit-error",
    text: `it reached its context limit ${describeDuration(age)} ago`,
    evidence: { sinceSeconds: wholeSeconds(age) },
  });
};

/** Compacting up to three times in a run is ordinary; again with nothing new in between it is a circle. */
const compactsAfter = 3;

export const findIdleCompactions: Detector = (record, { now }) => {
  const { terminal } = record.seen;
  const compactions = terminal?.compactions ?? null;
  if (terminal === null || compactions === null || compactions.times < compactsAfter) return nothing;
  if (terminal.novel !== compactions.novel || terminal.contextLimitAt !== null) return nothing;
  return found(record, now, null, {
    kind: "context-exhausted",
    level: "degraded",
    confidence: 0.6,
    class: "absence",
    text: `its context was compacted ${compactions.times} times with nothing new in between`,
    evidence: { compactions: compactions.times },
  });
};

const spinsAfter = 12;

/** The same file over and over proves little, so it is only shown. */
export const findSpinning: Detector = (record, { now }) => {
  const file = record.seen.terminal?.file ?? null;
  if (file === null || file.times < spinsAfter) return nothing;
  return found(record, now, null, {
    kind: "spinning-on-file",
    level: "note",
    confidence: 0.3,
    class: "absence",
    text: `the same file ${file.times} times in a row`,
    evidence: { times: file.times, file: file.digest },
  });
};

/** Shown while the wait lasts, so that nobody wonders about the quiet. */
export const findRateLimit: Detector = (record, { now }) => {
  const { terminal, limit } = record.seen;
  const { activity } = record.work;
  if (terminal === null || activity.kind !== "WAITING" || activity.for !== "provider") return nothing;
  const waited = now - activity.since;
  const failed = isStanding(limit) || terminal.wait !== "provider" ? null : (terminal.retry ?? null);
  if (failed !== null && !isPutOff(failed)) return findRetry(record, failed, now);
  return found(record, now, null, {
    kind: "rate-limited",
    level: "note",
    confidence: 0.9,
    class: "self-report",
    text: `its provider has put it off for ${describeDuration(waited)}`,
    evidence: { waitedSeconds: wholeSeconds(waited), times: (limit?.attempts ?? 0) + 1 },
  });
};

type Retry = NonNullable<TerminalFacts["retry"]>;

/** The provider asked to wait, or is overloaded. */
const isPutOff = ({ status }: Retry): boolean => status === 429 || status === 503 || status === 529;

/** The request failed and the program tries again by itself: no provider has put it off. */
const findRetry = (record: AgentRecord, retry: Retry, now: MonoMs): Look =>
  found(record, now, null, {
    kind: "request-retried",
    level: "note",
    confidence: 0.9,
    class: "self-report",
    text: `${describeFailure(retry)}; its program tries again`,
    evidence: { attempt: retry.attempt, status: retry.status ?? "none" },
  });

function describeFailure({ status, cause }: Retry): string {
  if (cause === "no-answer") return "its provider did not answer in time";
  if (cause === "no-connection") return "its provider could not be reached";
  return status === null ? "a request to its provider failed" : `its provider answered with status ${status}`;
}

/** How long the monitor waits for other agents to end as well, before it tells of one end alone. */
export const gatheringTime: DurationMs = seconds(5);

const gatheredAt = ({ health: { findings } }: AgentRecord, now: MonoMs): MonoMs =>
  (findings.find(({ kind }) => kind === "process-exited")?.since ?? now) + gatheringTime;

function restraintOfOthers(record: AgentRecord, { now, doubt }: Context): Restraint | undefined {
  if (doubt.diedWith !== null) return "mass-failure";
  return doubt.mayDieWithOthers && now < gatheredAt(record, now) ? "gathering" : undefined;
}

/**
 * The process exited without having finished. It is a note while it ended at a limit and will be back, in a person's
 * own terminal, and for an agent that runs once.
 */
export const findProcessExit: Detector = (record, context) => {
  const { now, policy } = context;
  const exit = record.seen.terminal?.exit ?? null;
  if (exit === null || record.work.activity.kind === "FINISHED" || wasStopped(record)) return nothing;
  const back = heldByLimit(record);
  const waits = endedAtLimit(record) && (back === null || now < back || resumesByItself(policy));
  const isSeen = record.seen.terminal?.foreground === true;
  const restrainedBy = waits || isSeen ? undefined : restraintOfOthers(record, context);
  const backAt = back !== null && back > now ? back : null;
  return found(record, now, restrainedBy === "gathering" ? gatheredAt(record, now) : backAt, {
    kind: "process-exited",
    level: waits || isSeen || runsOnce(record) ? "note" : "unresponsive",
    confidence: exit.cause === "unseen" ? 0.9 : 1,
    class: "process",
    text: describeExit(exit, describeLast(record.seen.terminal, policy)),
    evidence: { code: exit.code ?? "unknown", signal: exit.signal ?? "none", cause: exit.cause },
    restrainedBy,
  });
};

/** The policy starts the agent again after its limit, so nothing is the matter until then. */
const resumesByItself = ({ mode, limitResume }: Policy): boolean => mode === "act" && limitResume.afterExit === "auto";

function describeExit({ code, signal, cause }: NonNullable<TerminalFacts["exit"]>, before: string): string {
  if (cause === "unseen") return "its process is gone and nobody saw how it ended";
  if (signal !== null) return `its process was ended by ${signal}`;
  return `its process ended with status ${code}${before}`;
}

/** Programs report a full context as an invalid request, which helps nobody. */
function describeLast(terminal: TerminalFacts | null, policy: Policy): string {
  if (terminal === null) return "";
  const { failedTurn } = terminal;
  if (isContextFull(terminal, policy)) return ", after it reached its context limit";
  if (failedTurn != null) return `, after its turn failed (${failedTurn})`;
  return terminal.exit?.code === 0 && lacksMarker(terminal) ? " without the completion marker it announced" : "";
}

/** A known program reached its context limit and got no further. */
const isContextFull = (terminal: TerminalFacts, policy: Policy): boolean =>
  terminal.contextLimitAt !== null && terminal.family !== "generic" && !hasOutlivedLimit(terminal, policy);

/**
 * Going on with the same conversation would fill the context again. A kill is not the end that a full context makes.
 */
export const isConversationFull = (terminal: TerminalFacts, policy: Policy): boolean =>
  isContextFull(terminal, policy) &&
  !(terminal.exit !== null && terminal.exit.cause === "by-itself" && isKilled(terminal.exit));

/** The process lives, but its holder is lost or does not obey us. */
export const findHolderLost: Detector = (record, { now }) => {
  const { terminal } = record.seen;
  if (terminal === null || terminal.holder === "here" || terminal.exit !== null) return nothing;
  return found(record, now, null, {
    kind: "holder-lost",
    level: "degraded",
    confidence: 0.9,
    class: "process",
    text: `its process lives, but ${lostInWords[terminal.lostBecause ?? "gone"]}`,
    evidence: { pid: terminal.pid, because: terminal.lostBecause ?? "gone" },
  });
};

const lostInWords: Record<HolderLoss, string> = {
  gone: "the holder of its terminal is gone",
  silent: "the holder of its terminal does not answer",
  "other-store": "its holder belongs to another database; `rouse adopt` takes it over",
  "old-epoch": "its holder obeys a newer monitor than this one; `rouse adopt` takes it over",
  "epoch-too-high": "its holder does not believe this monitor's epoch; `rouse adopt` takes it over",
  "wrong-secret": "its holder does not know the secret in its file",
};

/** We stopped it; or it was down already and a person cancelled its next life. */
export const wasStopped = ({ seen: { terminal }, ending: { stop } }: AgentRecord): boolean => {
  const exit = terminal?.exit ?? null;
  const isCancelled = stop?.cause === "ordered" && stop.orderedAt === null && stop.outcome?.kind === "already-over";
  return exit !== null && (exit.cause === "stopped" || isCancelled);
};
