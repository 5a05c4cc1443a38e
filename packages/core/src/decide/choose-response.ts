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

/** Third stage: should we act? With beats alone there is one thing to do: tell somebody, once per cause, and take it back when it is over. */
export function chooseResponse(record: AgentRecord, policy: Policy): Response {
  const { state, reason } = record.health;
  const severity = severities[state];
  if (severity === undefined) return calmResponse(record);
  if (policy.mode === "observe") return { kind: "nothing", because: "observing-only" };
  if (record.alert?.cause === reason) return { kind: "nothing", because: "already-alerted" };
  return { kind: "alert", cause: reason, severity };
}

/** A warning sign does not end an open alert; being well does. */
function calmResponse(record: AgentRecord): Response {
  return record.alert !== null && record.health.state === "HEALTHY"
    ? { kind: "resolve" }
    : { kind: "nothing", because: "not-ill" };
}
