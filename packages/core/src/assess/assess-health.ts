import {
  type DurationMs,
  type HealthReason,
  type MonoMs,
  type Policy,
  type RouseEvent,
  seconds,
} from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import type { Context } from "../context.ts";
import { type Doubt, lastGap } from "../doubt.ts";
import { type AgentRecord, type Finding, hasLeftovers, isOver } from "../record.ts";
import {
  findConsecutiveFailures,
  findContextFill,
  findErrorRate,
  findMemoryLimit,
  findMemoryPressure,
  findSelfReport,
  findTokenSpike,
} from "./breaking-things.ts";
import { findApiErrors, findRepeatedError, findRepetition } from "./find-repetition.ts";
import { gravest, isIll, nextHealth, terminated } from "./health-machine.ts";
import { type Detector, earliest } from "./look.ts";
import { findMissedBeats, findUnreadBeats } from "./missed-beats.ts";
import { awaitsNewEvidence } from "./moved-since.ts";
import { findOpenBreaker } from "./open-breaker.ts";
import { findOverdueCall, findOvertime } from "./overdue.ts";
import { stateOfTree } from "./process-tree.ts";
import {
  findNoProgress,
  findNoToolCall,
  findStaleCheckpoint,
  findUnstartedTask,
  findZeroTokens,
} from "./stale-work.ts";
import {
  findCompletionTimeout,
  findContextExhausted,
  findHolderLost,
  findIdleCompactions,
  findNoOutput,
  findProcessExit,
  findRateLimit,
  findSpinning,
  findTokenBurn,
  wasStopped,
} from "./terminal-signs.ts";

const detectors: readonly Detector[] = [
  findMissedBeats,
  findUnreadBeats,
  findStaleCheckpoint,
  findNoProgress,
  findNoToolCall,
  findZeroTokens,
  findUnstartedTask,
  findErrorRate,
  findConsecutiveFailures,
  findTokenSpike,
  findMemoryPressure,
  findMemoryLimit,
  findSelfReport,
  findNoOutput,
  findOverdueCall,
  findOvertime,
  findRepeatedError,
  findTokenBurn,
  findCompletionTimeout,
  findContextExhausted,
  findIdleCompactions,
  findContextFill,
  findSpinning,
  findRateLimit,
  findHolderLost,
  findOpenBreaker,
];

/** An exited process has only its exit to judge. */
const afterwards: readonly Detector[] = [findProcessExit];
/** Leftover processes owe nobody output, beats or progress. */
const leftBehind: readonly Detector[] = [findHolderLost];

interface Assessed {
  readonly record: AgentRecord;
  readonly events: readonly RouseEvent[];
}

/**
 * Second stage: how is it doing? Asks every detector, takes the gravest finding as health and keeps when to look again.
 */
export function assessHealth(before: AgentRecord, record: AgentRecord, context: Context): Assessed {
  // The holder's reports from during a gap are on their way: until they come, nobody is judged.
  const { now, policy, doubt } = context;
  const awaited = holderAwaitedUntil(record, context);
  if (awaited !== null && now < awaited) return { record: { ...record, wakeAt: awaited }, events: [] };
  const findings: Finding[] = [];
  let wakeAt: MonoMs | null = null;
  if (policy.enabled && record.work.activity.kind !== "FINISHED") {
    if (!isOver(record)) findings.push(...findRepetition(before, record, context));
    const apiErrors = isOver(record) ? null : findApiErrors(record, now);
    if (apiErrors !== null) findings.push(apiErrors);
    for (const look of isOver(record) ? afterwards : hasLeftovers(record) ? leftBehind : detectors) {
      const seen = look(record, context);
      if (seen.finding !== null) findings.push(seen.finding);
      wakeAt = earliest(wakeAt, seen.lookAgainAt);
    }
  }
  const calm = calmReason(before, record);
  const health = wasStopped(record)
    ? terminated(record.health, now)
    : !isOver(record) &&
        (awaitsNewEvidence(record, now) || isUnseenSinceGap(record, doubt) || isOutOfSight(record, policy)) &&
        (gravest(findings)?.level ?? "note") in beneathStuck
      ? record.health
      : nextHealth(record.health, findings, calm, now);
  const { ladder } = record;
  // Written out field by field: this runs at every look, and a spread with changes takes ten times as long.
  const assessed: AgentRecord = {
    agentId: record.agentId,
    identity: record.identity,
    life: record.life,
    task: record.task,
    work: record.work,
    beats: record.beats,
    seen: record.seen,
    health: findings.length === 0 && health.findings.length === 0 ? health : { ...health, findings },
    ladder: health.state === "STUCK" || ladder.reached === null ? ladder : { ...ladder, reached: null },
    ending: record.ending,
    recovery: record.recovery,
    // A new promise of beats sets another rhythm, which applies from the next look on.
    wakeAt: before.life.promise === record.life.promise ? wakeAt : earliest(wakeAt, now + nextLook),
  };
  return { record: assessed, events: describeChanges(before, assessed) };
}

const nextLook: DurationMs = seconds(1);

/** A gap of our own makes nobody well: a verdict from before it stands until the agent is heard again. */
function isUnseenSinceGap({ health, life: { heardAt }, work: { activity } }: AgentRecord, doubt: Doubt): boolean {
  const gap = lastGap(doubt);
  const isWell = !isIll(health.state) && health.state !== "DEGRADED";
  return gap !== null && heardAt < gap.to && !isWell && activity.kind !== "FINISHED";
}

/**
 * The agent cannot be seen: its holder is lost, or nobody can look whether an overdue call goes on. That is no evidence
 * against the agent, and does not make it well.
 */
function isOutOfSight(record: AgentRecord, policy: Policy): boolean {
  const { health } = record;
  const { terminal } = record.seen;
  const { activity } = record.work;
  if (terminal === null || !isIll(health.state) || activity.kind === "FINISHED") return false;
  if (terminal.holder === "lost") return true;
  const isOpen = activity.kind === "RUNNING" && activity.open !== null;
  return isOpen && health.reason === "overdue-call" && stateOfTree(record, policy).kind === "unknown";
}

/** After a gap: until when the first report of the holder, or its loss, is waited for. A TTL is enough for either. */
function holderAwaitedUntil(
  { seen: { terminal }, work: { activity } }: AgentRecord,
  { policy, doubt }: Context,
): MonoMs | null {
  const gap = lastGap(doubt);
  if (gap === null || terminal === null || terminal.exit !== null || terminal.holder === "lost") return null;
  return terminal.seenAt < gap.to ? gap.to + beatRhythm(activity, policy).ttl + policy.amnestyMargin : null;
}

const beneathStuck = { note: true, degraded: true };

function calmReason(before: AgentRecord, record: AgentRecord): HealthReason {
  if (record.life.incarnation !== before.life.incarnation) return "new-incarnation";
  return record.work.activity.kind === "FINISHED" ? "finished" : "findings-cleared";
}

function describeChanges(before: AgentRecord, after: AgentRecord): RouseEvent[] {
  const events: RouseEvent[] = [];
  const { agentId } = after;
  const missed = missedBeats(after);
  if (missed !== null && Number(missed.evidence["missed"]) > Number(missedBeats(before)?.evidence["missed"] ?? 0)) {
    const { missed: count, silentSeconds } = missed.evidence;
    const payload = { agentId, missed: Number(count), silentSeconds: Number(silentSeconds) };
    events.push({ type: "HEARTBEAT_MISSED", payload });
  }
  if (after.work.activity.kind === "FINISHED" && before.work.activity.kind !== "FINISHED") {
    events.push({ type: "AGENT_FINISHED", payload: { agentId, incarnation: after.life.incarnation } });
  }
  if (after.health.state !== before.health.state) {
    const { state: to, reason, findings } = after.health;
    const payload = { agentId, from: before.health.state, to, reason, findings: findings.map(withoutSince) };
    events.push({ type: "HEALTH_STATE_CHANGED", payload });
  }
  return events;
}

const missedBeats = (record: AgentRecord): Finding | null =>
  record.health.findings.find((finding) => finding.kind === "missed-beats") ?? null;

function withoutSince({ since: _, evidence, ...finding }: Finding) {
  return { ...finding, evidence: { ...evidence } };
}
