import type { MonoMs } from "@rouse/contract";
import { outcomeWindow } from "../accept/read-beat.ts";
import type { AgentRecord } from "../record.ts";
import { type Detector, found, type Look, nothing, nothingUntil } from "./look.ts";

/** Fewer calls than this say nothing about a rate. */
const callsForRate = 8;

/** The share of failed calls over the last minutes, or as the agent reports it. */
export const findErrorRate: Detector = (record, { now, policy }) => {
  if (record.seen.facts.outcomes.length === 0 && record.seen.facts.reportedErrorRate === null) return nothing;
  let calls = 0;
  let errors = 0;
  let lookAgainAt: MonoMs | null = null;
  for (const stretch of record.seen.facts.outcomes) {
    const agesOutAt = stretch.from + outcomeWindow;
    if (agesOutAt <= now) continue;
    lookAgainAt ??= agesOutAt;
    calls += stretch.calls;
    errors += stretch.errors;
  }
  const counted = calls >= callsForRate ? Math.min(1, errors / calls) : null;
  const rate = Math.max(counted ?? 0, record.seen.facts.reportedErrorRate ?? 0);
  if (rate <= policy.errorRate) return nothingUntil(lookAgainAt);
  return found(record, now, lookAgainAt, {
    kind: "error-rate",
    level: "degraded",
    confidence: counted === null ? 0.5 : 0.7,
    class: "explicit-error",
    text: `${Math.round(rate * 100)} % of its recent calls failed`,
    evidence: { rate: Math.round(rate * 1000) / 1000, calls, errors, threshold: policy.errorRate },
  });
};

/** More failures in a row than allowed: reported by the agent, or errors in beat after beat with nothing achieved. */
export const findConsecutiveFailures: Detector = (record, { now, policy }) => {
  if (record.work.activity.kind !== "RUNNING") return nothing;
  const reported = record.seen.facts.reportedFailures ?? 0;
  const failures = Math.max(reported, record.seen.facts.failingBeats);
  if (failures <= policy.consecutiveFailures) return nothing;
  const isReported = reported > policy.consecutiveFailures;
  // An agent that may be getting better is not stopped for its past.
  const better = isReported ? 0 : (record.seen.facts.sinceFailure ?? 0);
  return found(record, now, null, {
    kind: "consecutive-failures",
    level: "failing",
    confidence: isReported ? 0.9 : 0.6,
    class: "explicit-error",
    text: isReported
      ? `${reported} failures in a row, as it reports`
      : `new errors in ${failures} beats in a row and nothing achieved between them`,
    evidence: { failures, allowed: policy.consecutiveFailures, ...(better === 0 ? {} : { better, goesOn: "yes" }) },
  });
};

/** Spending far faster than it used to: often a loop. */
export const findTokenSpike: Detector = (record, { now, policy }) => {
  const rate = record.seen.facts.tokenRate;
  if (rate === null || rate.spike === null || record.work.activity.kind !== "RUNNING") return nothing;
  return found(record, now, null, {
    kind: "token-spike",
    level: "degraded",
    confidence: 0.4,
    class: "resource",
    text: `spending tokens ${Math.round(rate.spike)} times as fast as usual`,
    evidence: { timesUsual: Math.round(rate.spike * 10) / 10, threshold: policy.tokenSpikeFactor },
  });
};

export const findMemoryPressure: Detector = (record, { now, policy }) => {
  const { memory } = record.seen.facts;
  if (memory === null || memory <= policy.memoryPressure) return nothing;
  return found(record, now, null, {
    kind: "memory-pressure",
    level: "note",
    confidence: 0.7,
    class: "resource",
    text: `uses ${Math.round(memory * 100)} % of its memory limit`,
    evidence: { memory, threshold: policy.memoryPressure },
  });
};

/** All its processes together use more than its owner allows. */
export const findMemoryLimit: Detector = (record, { now, policy }) => {
  const tree = record.seen.terminal?.tree ?? null;
  if (policy.memoryLimit === null || tree === null || tree.memoryBytes <= policy.memoryLimit) return nothing;
  const mb = (bytes: number): number => Math.round(bytes / 1024 / 1024);
  return found(record, now, null, {
    kind: "memory-limit",
    level: "failing",
    confidence: 0.9,
    class: "resource",
    text: `its processes use ${mb(tree.memoryBytes)} MB, and ${mb(policy.memoryLimit)} MB are allowed`,
    evidence: { memoryMb: mb(tree.memoryBytes), limitMb: mb(policy.memoryLimit) },
  });
};

/** An agent that reports itself unwell is believed, but is only DEGRADED for it. */
export const findSelfReport: Detector = (record, { now }) => {
  const status = record.seen.facts.selfReported;
  if (status === null) return nothing;
  if (status === "FAILED") return runFailed(record, now);
  return found(record, now, null, {
    kind: "self-reported",
    level: "degraded",
    confidence: 0.7,
    class: "self-report",
    text: `reports itself as ${status}`,
    evidence: { status },
  });
};

const runFailed = (record: AgentRecord, now: MonoMs): Look =>
  found(record, now, null, {
    kind: "run-failed",
    level: "degraded",
    confidence: 0.9,
    class: "self-report",
    text: "its last run failed, as it says itself",
    evidence: { status: "FAILED" },
  });

/** From here on an agent should be handing over or compacting. */
const contextFull = 0.95;

/** The context is nearly full. That alone is a warning. */
export const findContextFill: Detector = (record, { now }) => {
  const { context } = record.seen.facts;
  // A context limit that the terminal shows has a finding of its own.
  if (context === null || context < contextFull || record.seen.terminal?.contextLimitAt != null) return nothing;
  return found(record, now, null, {
    kind: "context-exhausted",
    level: "degraded",
    confidence: 0.5,
    class: "self-report",
    text: `its context is ${Math.round(context * 100)} % full and nothing was handed over`,
    evidence: { context },
  });
};
