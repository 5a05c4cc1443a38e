import type { FindingLevel, HealthReason, HealthState, MonoMs } from "@rouse/contract";
import type { Finding, Health } from "../record.ts";
import { gravity } from "./look.ts";

/** Which state may follow which. Whoever is TERMINATED comes back only as a new incarnation. */
export const allowedTransitions: Readonly<Record<HealthState, readonly HealthState[]>> = {
  HEALTHY: ["DEGRADED", "UNRESPONSIVE", "STUCK", "FAILING", "QUARANTINED", "TERMINATED"],
  DEGRADED: ["HEALTHY", "UNRESPONSIVE", "STUCK", "FAILING", "QUARANTINED", "TERMINATED"],
  UNRESPONSIVE: ["HEALTHY", "DEGRADED", "STUCK", "FAILING", "QUARANTINED", "TERMINATED"],
  STUCK: ["HEALTHY", "DEGRADED", "UNRESPONSIVE", "FAILING", "QUARANTINED", "TERMINATED"],
  FAILING: ["HEALTHY", "DEGRADED", "UNRESPONSIVE", "STUCK", "QUARANTINED", "TERMINATED"],
  QUARANTINED: ["HEALTHY", "TERMINATED"],
  TERMINATED: ["HEALTHY"],
};

const stateFor: Readonly<Record<FindingLevel, HealthState>> = {
  note: "HEALTHY",
  degraded: "DEGRADED",
  stuck: "STUCK",
  failing: "FAILING",
  unresponsive: "UNRESPONSIVE",
};

/** Not there, getting nowhere or breaking things; DEGRADED is only a warning. */
export const isIll = (state: HealthState): boolean =>
  state === "STUCK" || state === "FAILING" || state === "UNRESPONSIVE";

/** The finding that decides: the gravest, and of two equally grave ones the surer. */
export function gravest(findings: readonly Finding[]): Finding | null {
  let worst: Finding | null = null;
  for (const finding of findings) {
    const by = worst === null ? 1 : gravity[finding.level] - gravity[worst.level];
    if (by > 0 || (by === 0 && worst !== null && finding.confidence > worst.confidence)) worst = finding;
  }
  return worst;
}

/**
 * Health by the findings. QUARANTINED and TERMINATED come from a person or the gate, and findings do not change them.
 */
export function nextHealth(health: Health, findings: readonly Finding[], calm: HealthReason, now: MonoMs): Health {
  const reborn = calm === "new-incarnation";
  if ((health.state === "QUARANTINED" || health.state === "TERMINATED") && !reborn) return health;
  const worst = gravest(findings);
  const state = worst === null ? "HEALTHY" : stateFor[worst.level];
  // A new life has its own `since`, even in the same state.
  if (state === health.state && !reborn) return health;
  // A new life begins HEALTHY, and its first beat may already show more than that.
  const from = reborn ? "HEALTHY" : health.state;
  if (state !== from && !allowedTransitions[from].includes(state))
    throw new Error(`no transition from ${from} to ${state}`);
  return { ...health, state, since: now, reason: worst === null || state === "HEALTHY" ? calm : worst.kind };
}

/** We stopped it. It comes back only as a new incarnation. */
export function terminated(health: Health, now: MonoMs): Health {
  return health.state === "TERMINATED" ? health : { ...health, state: "TERMINATED", since: now, reason: "terminated" };
}
