import type { AlertSeverity, HealthReason, HealthState, Policy } from "@rouse/contract";
import type { AgentRecord } from "../record.ts";

/** What to do about a change of health, and if nothing, why not. */
export type Response =
  | { readonly kind: "alert"; readonly cause: HealthReason; readonly severity: AlertSeverity }
  | { readonly kind: "resolve" }
  | { readonly kind: "nothing"; readonly because: "already-alerted" | "not-ill" | "observing-only" };

const severities: Readonly<Partial<Record<HealthState, AlertSeverity>>> = {
  UNRESPONSIVE: "critical",
  FAILING: "critical",
  STUCK: "warning",
};

/** Warning signs that somebody should hear of although nobody should act on them. */
const tellingSigns: ReadonlySet<HealthReason> = new Set<HealthReason>(["token-burn", "holder-lost"]);

/** Third stage: should we act? First of all by telling somebody, once per cause, and taking it back when it is over. */
export function chooseResponse(record: AgentRecord, policy: Policy): Response {
  const { state, reason } = record.health;
  const sign =
    state === "DEGRADED"
      ? record.findings.find(({ kind, level }) => level === "degraded" && tellingSigns.has(kind))
      : undefined;
  const severity = severities[state] ?? (sign === undefined ? undefined : "warning");
  const cause = sign?.kind ?? reason;
  if (severity === undefined) return calmResponse(record);
  if (policy.mode === "observe") return { kind: "nothing", because: "observing-only" };
  if (record.alert?.cause === cause) return { kind: "nothing", because: "already-alerted" };
  return { kind: "alert", cause, severity };
}

/** A warning sign does not end an open alert; being well does, and so does being stopped. */
function calmResponse(record: AgentRecord): Response {
  return record.alert !== null && (record.health.state === "HEALTHY" || record.health.state === "TERMINATED")
    ? { kind: "resolve" }
    : { kind: "nothing", because: "not-ill" };
}
