import { type AgentStatus, type Heartbeat, type MonoMs, minutes, type OpenWork } from "@rouse/contract";
import { type Activity, type Facts, isToolOpen, type Mark, type OutcomeStretch, type TokenRate } from "../facts.ts";
import type { HeartbeatSignal } from "../signal.ts";

/**
 * Errors and calls are counted over this stretch, in pieces, so that memory stays bounded however fast an agent beats.
 */
export const outcomeWindow = minutes(10);
const outcomePiece = minutes(1);

/** Readings before a token rate counts as usual; a spike below this many tokens is not worth a word. */
const readingsForUsual = 5;
const smallestSpike = 5_000;

/** What is known about the beat before its facts are read. */
interface BeatContext {
  readonly activity: Activity;
  /** Something about the work is new. */
  readonly isNews: boolean;
  readonly throughWork: number;
  /** This moment. */
  readonly mark: Mark;
  readonly spikeFactor: number;
  readonly failuresAllowed: number;
}

/** Reads what a beat says of the work. A value is news when it differs from the last one; the beat itself never is. */
export function readFacts(before: Facts, beat: Heartbeat, context: BeatContext): Facts {
  const { activity, isNews, mark } = context;
  const change = findChanges(before, beat);
  const errors = grownBy(before.errorCount, beat.errorCount);
  const calls = grownBy(before.toolCallCount, beat.toolCallCount);
  const gotFurther = change.indicator || change.checkpoint || change.phase;
  const achieved = gotFurther || calls > errors;
  const failing =
    activity.kind === "RUNNING" && !gotFurther ? countFailing(before, calls, errors, context) : notFailing;
  const calledTool = change.tool || (isNews && isToolOpen(activity) && before.toolCall !== null);
  return {
    phase: beat.phase ?? before.phase,
    progressIndicator: beat.progressIndicator ?? before.progressIndicator,
    lastToolCall: beat.lastToolCall ?? before.lastToolCall,
    lastCheckpoint: beat.lastCheckpoint ?? before.lastCheckpoint,
    tokenCount: beat.tokenCount ?? before.tokenCount,
    errorCount: beat.errorCount ?? before.errorCount,
    toolCallCount: beat.toolCallCount ?? before.toolCallCount,
    progress: isNews || (before.progress === null && change.firstSeen) ? mark : before.progress,
    progressMoves: before.progressMoves || (isNews && before.progress !== null) || saysWhen(beat),
    toolCall: calledTool || (before.toolCall === null && change.firstTool) ? mark : before.toolCall,
    checkpoint: change.checkpoint || (before.checkpoint === null && change.firstCheckpoint) ? mark : before.checkpoint,
    tokens: isSpending(before, beat) ? mark : before.tokens,
    tokenRate: readTokenRate(before, beat, mark.at, context.spikeFactor),
    outcomes: calls === 0 && errors === 0 ? before.outcomes : addOutcome(before.outcomes, mark.at, calls, errors),
    failingBeats: failing.failingBeats,
    sinceFailure: failing.sinceFailure,
    reportedFailures: readFailures(beat, before, achieved),
    reportedErrorRate: readMetric(beat, "errorRate", "error_rate", before.reportedErrorRate),
    memory: readMetric(beat, "memory", "memory_usage", before.memory),
    context: readMetric(beat, "context", "context_usage", before.context),
    selfReported: illStatus(beat.status, before.selfReported),
    beatsThroughWork: context.throughWork,
  };
}

/** Tool calls and checkpoints are events, so even the first one shows that the agent reports progress. */
const saysWhen = (beat: Heartbeat): boolean => isSaid(beat.lastToolCall) || isSaid(beat.lastCheckpoint);

export const isSaid = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

/** Whether the beat brings a new fact of work. */
export const hasMoved = (before: Facts, beat: Heartbeat): boolean => isNews(findChanges(before, beat));

const isNews = (change: ReturnType<typeof findChanges>): boolean =>
  change.indicator || change.tool || change.checkpoint || change.phase;

function findChanges(before: Facts, beat: Heartbeat) {
  const differs = (was: string | null, is: string | null | undefined) => isSaid(is) && was !== null && is !== was;
  // A counter that never left zero says no more than no counter.
  const firstTool = isSaid(beat.lastToolCall) || (beat.toolCallCount ?? 0) > 0;
  const firstCheckpoint = isSaid(beat.lastCheckpoint);
  return {
    phase: differs(before.phase, beat.phase),
    indicator: differs(before.progressIndicator, beat.progressIndicator),
    tool: differs(before.lastToolCall, beat.lastToolCall) || grownBy(before.toolCallCount, beat.toolCallCount) > 0,
    checkpoint: differs(before.lastCheckpoint, beat.lastCheckpoint),
    firstTool,
    firstCheckpoint,
    // A phase alone may rightly stay the same for hours, so it does not start the progress clock.
    firstSeen: firstTool || firstCheckpoint || isSaid(beat.progressIndicator),
  };
}

/** Counters may start over; a smaller number is a new beginning, not a negative change. */
function grownBy(was: number | null, is: number | undefined): number {
  return was === null || is === undefined ? 0 : Math.max(0, is - was);
}

function isSpending(before: Facts, beat: Heartbeat): boolean {
  if (beat.tokenCount === undefined || beat.tokenCount === 0) return false;
  return before.tokenCount === null || beat.tokenCount !== before.tokenCount || before.tokens === null;
}

function readTokenRate(before: Facts, beat: Heartbeat, at: MonoMs, spikeFactor: number): TokenRate | null {
  if (beat.tokenCount === undefined) return before.tokenRate;
  const last = before.tokenRate;
  if (last === null || before.tokenCount === null) return { at, usual: null, readings: 0, spike: null };
  if (at <= last.at) return last;
  const spent = grownBy(before.tokenCount, beat.tokenCount);
  const rate = spent / ((at - last.at) / 60_000);
  const known = last.usual !== null && last.readings >= readingsForUsual;
  const spike =
    known && last.usual !== null && last.usual > 0 && spent >= smallestSpike && rate > spikeFactor * last.usual;
  // A spike pulls the usual rate only as far as the threshold, so one burst does not hide the next.
  const counted = spike && last.usual !== null ? Math.min(rate, spikeFactor * last.usual) : rate;
  const usual = last.usual === null ? counted : last.usual + 0.2 * (counted - last.usual);
  return {
    at,
    usual,
    readings: Math.min(last.readings + 1, 1000),
    spike: spike && last.usual !== null ? rate / last.usual : null,
  };
}

export function addOutcome(
  before: readonly OutcomeStretch[],
  at: MonoMs,
  calls: number,
  errors: number,
): readonly OutcomeStretch[] {
  const kept = before.filter((stretch) => stretch.from + outcomeWindow > at);
  const newest = kept[kept.length - 1];
  if (newest !== undefined && newest.from + outcomePiece > at) {
    return [...kept.slice(0, -1), { from: newest.from, calls: newest.calls + calls, errors: newest.errors + errors }];
  }
  return [...kept, { from: at, calls, errors }];
}

/** Errors while waiting are the provider's; errors beside something achieved are ordinary work. */
const notFailing = { failingBeats: 0, sinceFailure: 0 };

/**
 * A beat without an error, or with a successful call, ends a short row of failures. A row that made the agent FAILING
 * takes as many good beats as it had failures: one lucky call shows nothing.
 */
function countFailing(before: Facts, calls: number, errors: number, { failuresAllowed }: BeatContext) {
  const { failingBeats } = before;
  if (errors > 0 && calls <= errors) return { failingBeats: failingBeats + 1, sinceFailure: 0 };
  const sinceFailure = (before.sinceFailure ?? 0) + Math.max(1, calls - errors);
  return failingBeats > failuresAllowed && sinceFailure <= failuresAllowed
    ? { failingBeats, sinceFailure }
    : notFailing;
}

/** A reported count of failures stands until the next count, or until the agent gets on. */
function readFailures(beat: Heartbeat, before: Facts, achieved: boolean): number | null {
  if (beat.healthMetrics === undefined && achieved) return null;
  return readMetric(beat, "consecutiveFailures", "consecutive_failures", before.reportedFailures);
}

/** A beat without metrics says nothing new; one that leaves this metric out says that it is no longer known. */
function readMetric(beat: Heartbeat, name: string, snake: string, before: number | null): number | null {
  const metrics = beat.healthMetrics;
  if (metrics === undefined) return before;
  const key = Object.hasOwn(metrics, name) ? name : snake;
  const value = Object.hasOwn(metrics, key) ? metrics[key] : undefined;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A failed run is made good by a run that succeeds, not by one that has only begun. */
function illStatus(status: AgentStatus | undefined, before: AgentStatus | null): AgentStatus | null {
  if (status === "FAILED" || (status === "STARTING" && before === "FAILED")) return "FAILED";
  return status === "DEGRADED" || status === "UNRESPONSIVE" || status === "QUARANTINED" ? status : null;
}

/**
 * The activity that the agent states; `since` stays while it goes on. `moved`: the beat also shows new work, so a wait
 * or tool that looks the same is another one.
 */
export function readActivity(before: Activity, signal: HeartbeatSignal, moved: boolean, now: MonoMs): Activity {
  const { beat } = signal;
  switch (statedKind(beat)) {
    case "STARTING":
      return before.kind === "STARTING" ? before : { kind: "STARTING", since: now };
    case "IDLE":
      return before.kind === "IDLE" ? before : { kind: "IDLE", since: now };
    case "FINISHED":
      return before.kind === "FINISHED" ? before : { kind: "FINISHED", since: now };
    case "WAITING":
      return readWait(moved ? null : before, signal, now);
    case "RUNNING":
      return readRunning(before, beat.open ?? null, moved, now);
  }
}

/** Older agents report health as their status; they count as running. */
function statedKind(beat: Heartbeat): Activity["kind"] {
  switch (beat.status) {
    case undefined:
      return beat.waitingFor === undefined ? "RUNNING" : "WAITING";
    case "STARTING":
    case "RUNNING":
    case "WAITING":
    case "IDLE":
    case "FINISHED":
      return beat.status;
    case "TERMINATED":
      return "FINISHED";
    // A failed run is over, and the next one may come.
    case "FAILED":
      return "IDLE";
    case "DEGRADED":
    case "UNRESPONSIVE":
    case "QUARANTINED":
      return "RUNNING";
  }
}

function readWait(before: Activity | null, signal: HeartbeatSignal, now: MonoMs): Activity {
  const kind = signal.beat.waitingFor ?? "schedule";
  const same = before?.kind === "WAITING" && before.for === kind;
  const until = signal.waitsFor === null ? (same ? before.until : null) : now + signal.waitsFor;
  return { kind: "WAITING", since: same ? before.since : now, for: kind, until };
}

function readRunning(before: Activity, open: OpenWork | null, moved: boolean, now: MonoMs): Activity {
  const since = before.kind === "RUNNING" ? before.since : now;
  if (open === null)
    return before.kind === "RUNNING" && before.open === null ? before : { kind: "RUNNING", since, open: null };
  const same = !moved && before.kind === "RUNNING" && before.open !== null && isSameWork(before.open, open);
  return { kind: "RUNNING", since, open: { ...open, since: same && before.open !== null ? before.open.since : now } };
}

const isSameWork = (a: OpenWork, b: OpenWork): boolean =>
  a.kind === b.kind && a.name === b.name && a.timeoutSeconds === b.timeoutSeconds;

/** Whether `after` is the same stretch of work or waiting as `before`. */
export function goesOn(before: Activity, after: Activity): boolean {
  if (before.kind === "WAITING" && after.kind === "WAITING") return before.since === after.since;
  if (before.kind === "RUNNING" && after.kind === "RUNNING") {
    return before.open !== null && after.open !== null && before.open.since === after.open.since;
  }
  return false;
}
