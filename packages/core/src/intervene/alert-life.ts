import { describeDuration, type MonoMs, type RouseEvent } from "@rouse/contract";
import { earliest } from "../assess/look.ts";
import type { Response } from "../decide/choose-response.ts";
import type { AgentRecord, AlertLife } from "../record.ts";
import type { Action, Signal } from "../signal.ts";

export interface Intervened {
  readonly record: AgentRecord;
  readonly events: readonly RouseEvent[];
  readonly actions: readonly Action[];
}

/** Fourth stage: the life of an alert. Queued with the decision, delivered when the hands say so, resolved when its cause is gone. */
export function carryOut(record: AgentRecord, response: Response, signal: Signal, now: MonoMs): Intervened {
  return respond(noteOutcome(record, signal), response, now);
}

export function respond(record: AgentRecord, response: Response, now: MonoMs): Intervened {
  switch (response.kind) {
    case "nothing":
      return { record, events: [], actions: [] };
    case "alert":
      return raise(record, response, now);
    case "keep-open":
      return { record: { ...record, wakeAt: earliest(record.wakeAt, response.until) }, events: [], actions: [] };
    case "resolve": {
      const lastAlert = record.health.alert === null ? record.health.lastAlert : remember(record.health.alert, now);
      const over = resolve(record);
      return { ...over, record: { ...over.record, health: { ...over.record.health, lastAlert } } };
    }
  }
}

/** One that stayed open until all was well for a while is over with all that was told with it. */
const remember = ({ cause, again, told }: AlertLife, resolvedAt: MonoMs): AgentRecord["health"]["lastAlert"] => ({
  ...{ cause, resolvedAt },
  ...(again || told === undefined ? {} : { told }),
});

function noteOutcome(record: AgentRecord, signal: Signal): AgentRecord {
  if (signal.kind !== "action-outcome" || record.health.alert === null || record.health.alert.key !== signal.key)
    return record;
  return { ...record, health: { ...record.health, alert: { ...record.health.alert, state: "delivered" } } };
}

function raise(record: AgentRecord, response: Extract<Response, { kind: "alert" }>, now: MonoMs): Intervened {
  const more = response.again ? "; it goes up and down: no more is said until it has been well for a while" : "";
  return raiseAlert(record, response, `${summarise(record, now)}${more}`, now);
}

/** One open alert per agent: a new one takes the place of the one before. */
export function raiseAlert(
  record: AgentRecord,
  { cause, severity, again, told }: Pick<AlertLife, "cause" | "severity" | "again" | "told">,
  summary: string,
  now: MonoMs,
): Intervened {
  const { agentId } = record;
  const alertsRaised = record.health.alertsRaised + 1;
  const key = `${agentId}/${record.life.incarnation}/${cause}/${alertsRaised}`;
  const more = { ...(again ? { again } : {}), ...(told === undefined || told.length === 1 ? {} : { told }) };
  const alert: AlertLife = { key, cause, severity, raisedAt: now, state: "queued", ...more };
  const before = record.health.alert === null ? null : resolve(record);
  return {
    record: { ...record, health: { ...record.health, alert, alertsRaised } },
    events: [...(before?.events ?? []), { type: "ALERT_RAISED", payload: { agentId, alert: key, severity, summary } }],
    actions: [...(before?.actions ?? []), { kind: "raise-alert", key, agentId, severity, summary }],
  };
}

function resolve(record: AgentRecord): Intervened {
  if (record.health.alert === null) return { record, events: [], actions: [] };
  const { agentId } = record;
  const { key } = record.health.alert;
  return {
    record: { ...record, health: { ...record.health, alert: null } },
    events: [{ type: "ALERT_RESOLVED", payload: { agentId, alert: key } }],
    actions: [{ kind: "resolve-alert", key: `${key}/resolved`, agentId }],
  };
}

/** Facts in fixed words; nothing an agent wrote gets in but its id. */
function summarise(record: AgentRecord, now: MonoMs): string {
  const reasons = record.health.findings.filter((finding) => finding.level !== "note").map((finding) => finding.text);
  const life = describeDuration(now - record.life.bornAt);
  return `${record.agentId} is ${record.health.state} after ${life}: ${reasons.join("; ")}`;
}
