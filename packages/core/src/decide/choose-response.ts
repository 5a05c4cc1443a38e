import type { AlertSeverity, HealthReason, HealthState, Policy } from "@rouse/contract";
import type { Doubt } from "../doubt.ts";
import { isSettled } from "../incident.ts";
import type { AgentRecord } from "../record.ts";
import { isMatterOfFleet } from "./matter-of-fleet.ts";

/** What to do about a change of health, and if nothing, why not. */
export type Response =
  | { readonly kind: "alert"; readonly cause: HealthReason; readonly severity: AlertSeverity }
  | { readonly kind: "resolve" }
  | {
      readonly kind: "nothing";
      readonly because: "already-alerted" | "not-ill" | "observing-only" | "matter-of-the-fleet";
    };

const severities: Readonly<Partial<Record<HealthState, AlertSeverity>>> = {
  UNRESPONSIVE: "critical",
  FAILING: "critical",
  STUCK: "warning",
};

/** Warning signs that somebody should hear of although nobody should act on them. */
const tellingSigns: ReadonlySet<HealthReason> = new Set<HealthReason>(["token-burn", "holder-lost", "run-failed"]);

/** Third stage: should we act? First of all by telling somebody, once per cause, and taking it back when it is over. */
export function chooseResponse(record: AgentRecord, policy: Policy, doubt: Doubt): Response {
  const { state, reason } = record.health;
  const sign =
    state === "DEGRADED"
      ? record.findings.find(({ kind, level }) => level === "degraded" && tellingSigns.has(kind))
      : undefined;
  const severity = severities[state] ?? (sign === undefined ? undefined : "warning");
  const cause = sign?.kind ?? reason;
  if (severity === undefined) return calmResponse(record);
  if (policy.mode === "observe") return { kind: "nothing", because: "observing-only" };
  if (record.alert?.cause === cause || isAPersonsMatter(record)) return { kind: "nothing", because: "already-alerted" };
  if (isMatterOfFleet(record, doubt)) return { kind: "nothing", because: "matter-of-the-fleet" };
  return { kind: "alert", cause, severity };
}

/** A warning sign does not end an open alert; being well does, and so does being stopped, unless that is not the end of it. */
function calmResponse(record: AgentRecord): Response {
  const { alert, health, incident, handedOver } = record;
  const isOver = health.state === "TERMINATED" && incident === null && (!isAPersonsMatter(record) || handedOver?.asked);
  const isWell = health.state === "HEALTHY" && handedOver?.asked !== true;
  return alert !== null && (isWell || isOver) ? { kind: "resolve" } : { kind: "nothing", because: "not-ill" };
}

/** What a person has been called for stays as loud as it was told them. A mere question is theirs no more once its agent is ill. */
const isAPersonsMatter = ({ alert, handedOver }: AgentRecord): boolean =>
  alert !== null && handedOver !== null && !isSettled(handedOver);
