import {
  type AlertSeverity,
  type DurationMs,
  type HealthReason,
  type HealthState,
  type MonoMs,
  minutes,
  type Policy,
} from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { gravity } from "../assess/look.ts";
import type { Context } from "../context.ts";
import type { Doubt } from "../doubt.ts";
import { isSettled } from "../incident.ts";
import type { AgentRecord, Finding } from "../record.ts";

/** What to do about a change of health, or why nothing. */
export type Response =
  | {
      readonly kind: "alert";
      readonly cause: HealthReason;
      readonly severity: AlertSeverity;
      /** This cause, or one told beside it, was told not long ago: the agent goes up and down. */
      readonly again?: true;
      /** Causes told since the agent was last well for a while, this one included. */
      readonly told?: readonly HealthReason[];
    }
  | { readonly kind: "resolve" }
  /** The agent goes up and down: the alert stays open until it has been well for a while. */
  | { readonly kind: "keep-open"; readonly until: MonoMs }
  | {
      readonly kind: "nothing";
      readonly because: "already-alerted" | "not-ill" | "observing-only" | "matter-of-the-fleet";
    };

const severities: Readonly<Partial<Record<HealthState, AlertSeverity>>> = {
  UNRESPONSIVE: "critical",
  FAILING: "critical",
  STUCK: "warning",
};

/** Warnings that a person should hear of although nobody should act on them. */
const tellingSigns: ReadonlySet<HealthReason> = new Set<HealthReason>([
  "token-burn",
  "holder-lost",
  "run-failed",
  "breaker-open",
]);

/** Third stage: should we act? First by telling a person, once per cause, and taking it back when it is over. */
export function chooseResponse(record: AgentRecord, context: Context): Response {
  const { now, policy, doubt } = context;
  const { state, reason } = record.health;
  const sign =
    state === "DEGRADED"
      ? record.health.findings.find(({ kind, level }) => level === "degraded" && tellingSigns.has(kind))
      : undefined;
  const severity = severities[state] ?? (sign === undefined ? undefined : severityOf(sign));
  const cause = sign?.kind ?? reason;
  if (severity === undefined) return calmResponse(record, context);
  if (policy.mode === "observe") return { kind: "nothing", because: "observing-only" };
  if (endedWithOthers(record))
    return record.health.alert === null ? { kind: "nothing", because: "matter-of-the-fleet" } : { kind: "resolve" };
  const { alert } = record.health;
  // A breaker may begin as a warning and end as an illness: the one alert about it becomes louder, once.
  const climbs = cause === "breaker-open" && severity === "critical" && alert?.severity === "warning";
  if ((alert?.cause === cause && !climbs) || isAPersonsMatter(record))
    return { kind: "nothing", because: "already-alerted" };
  if (isMatterOfFleet(record, doubt)) return { kind: "nothing", because: "matter-of-the-fleet" };
  const told = toldLately(record, now, policy);
  const before = told.filter((one) => one === cause).length;
  const isLouder = alert?.severity === "critical" && severity !== "critical";
  if (alert?.again && (isLouder || (before >= mostTold && !climbs)))
    return { kind: "nothing", because: "already-alerted" };
  const again = (before > 0 && !(climbs && before === 1)) || alert?.again;
  return { kind: "alert", cause, severity, ...(again ? { again } : {}), told: [...told, cause] };
}

/** Checkpoints that cannot be saved for long are lost with their agent, so somebody has to look now. */
const severityOf = ({ evidence }: Finding): AlertSeverity => (evidence["lasting"] === "yes" ? "critical" : "warning");

/** So often an agent that goes up and down is told of per cause; no warnings follow something worse. */
const mostTold = 2;

/** Causes that were told lately, each time they were: two causes that take turns go up and down as one does. */
function toldLately(record: AgentRecord, now: MonoMs, policy: Policy): readonly HealthReason[] {
  const { alert, lastAlert } = record.health;
  if (alert !== null) return alert.told ?? [alert.cause];
  if (lastAlert === null || now - lastAlert.resolvedAt >= soon(record, policy)) return [];
  return lastAlert.told ?? [lastAlert.cause];
}

/** A cause that returns within this time goes up and down. A silent agent takes a TTL to show it. */
const soon = ({ work: { activity } }: AgentRecord, policy: Policy): DurationMs =>
  Math.max(minutes(15), policy.beatsPromised ? 0 : 2 * beatRhythm(activity, policy).ttl);

/** Being well or being stopped ends an open alert, a mere warning does not. */
function calmResponse(record: AgentRecord, { now, policy }: Context): Response {
  const { health } = record;
  const { alert } = record.health;
  const { incident, handedOver } = record.ladder;
  const isOver = health.state === "TERMINATED" && incident === null && (!isAPersonsMatter(record) || handedOver?.asked);
  const isWell = health.state === "HEALTHY" && handedOver?.asked !== true;
  // Once its breakers are closed, another warning does not keep the alert about them open.
  const isMoot = alert?.cause === "breaker-open" && !alert.again && incident === null && handedOver === null;
  const isOtherwiseIll = health.state !== "DEGRADED" || health.findings.some(({ kind }) => kind === "breaker-open");
  if (alert === null || !(isWell || isOver || (isMoot && !isOtherwiseIll)))
    return { kind: "nothing", because: "not-ill" };
  const until = health.since + soon(record, policy);
  const mayComeBack = alert.again && isWell && record.work.activity.kind !== "FINISHED" && now < until;
  return mayComeBack ? { kind: "keep-open", until } : { kind: "resolve" };
}

/** An alert that called a person stays as it was told. */
const isAPersonsMatter = ({ health: { alert }, ladder: { handedOver } }: AgentRecord): boolean =>
  alert !== null && handedOver !== null && !isSettled(handedOver);

/**
 * The agent is ill only by its silence, and fell silent together with many: people are told and asked about all at
 * once. An earlier, lighter warning is no matter of its own.
 */
export function isMatterOfFleet({ health: { findings } }: AgentRecord, { silentWith }: Doubt): boolean {
  if (silentWith === null) return false;
  const silence = findings.find(({ kind }) => kind === "missed-beats");
  const isIllness = silence !== undefined && gravity[silence.level] > gravity.degraded;
  const less = isIllness ? gravity.stuck : gravity.degraded;
  return findings.every((finding) => finding === silence || gravity[finding.level] < less);
}

/** The agent ended together with many, or may have: nobody is told of its end alone. */
export const endedWithOthers = ({ health: { findings } }: AgentRecord): boolean =>
  findings.some(({ kind, restrainedBy }) => kind === "process-exited" && restrainedBy !== undefined);
