import {
  type AlertSeverity,
  describeDuration,
  type MonoMs,
  type Policy,
  type Question,
  type RouseEvent,
} from "@rouse/contract";
import { earliest } from "../assess/look.ts";
import type { Response } from "../decide/choose-response.ts";
import { isStanding } from "../limit.ts";
import { type AgentRecord, type AlertLife, isStartingAgain, lifeOf } from "../record.ts";
import { runsOnce } from "../restart-rule.ts";
import { type Action, type Signal, type Told, tellRaised, tellResolved } from "../signal.ts";

export interface Intervened extends Told {
  readonly record: AgentRecord;
}

export const unchanged = (record: AgentRecord): Intervened => ({ record, events: none, actions: none });

const none: readonly never[] = [];

export const withEvents = (record: AgentRecord, ...events: readonly RouseEvent[]): Intervened => ({
  record,
  events,
  actions: none,
});

export const withActions = (record: AgentRecord, ...actions: readonly Action[]): Intervened => ({
  record,
  events: none,
  actions,
});

/** Two steps in a row: the record of the second, and what both tell. */
export const join = (before: Told, after: Intervened): Intervened => ({
  record: after.record,
  events: after.events.length === 0 ? before.events : [...before.events, ...after.events],
  actions: after.actions.length === 0 ? before.actions : [...before.actions, ...after.actions],
});

/** Fourth stage: the life of an alert: queued with the decision, delivered, resolved when its cause is gone. */
export function carryOut(record: AgentRecord, response: Response, signal: Signal, now: MonoMs): Intervened {
  return respond(noteOutcome(record, signal), response, now);
}

export function respond(record: AgentRecord, response: Response, now: MonoMs): Intervened {
  switch (response.kind) {
    case "nothing":
      return unchanged(record);
    case "alert":
      return raise(record, response, now);
    case "keep-open":
      return unchanged({ ...record, wakeAt: earliest(record.wakeAt, response.until) });
    case "resolve": {
      const lastAlert = record.health.alert === null ? record.health.lastAlert : remember(record.health.alert, now);
      const over = resolve(record);
      return { ...over, record: { ...over.record, health: { ...over.record.health, lastAlert } } };
    }
  }
}

/** An alert that stayed open until the agent was well for a while ends together with all it told. */
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
  return join(resolve(record), {
    record: { ...record, health: { ...record.health, alert, alertsRaised } },
    ...tellRaised(key, agentId, severity, summary),
  });
}

function resolve(record: AgentRecord): Intervened {
  if (record.health.alert === null) return unchanged(record);
  return {
    record: { ...record, health: { ...record.health, alert: null } },
    ...tellResolved(record.health.alert.key, record.agentId),
  };
}

/** Facts in fixed words; nothing an agent wrote gets in but its id. */
function summarise(record: AgentRecord, now: MonoMs): string {
  const reasons = record.health.findings.filter((finding) => finding.level !== "note").map((finding) => finding.text);
  const life = describeDuration(now - record.life.bornAt);
  return `${record.agentId} is ${record.health.state} after ${life}: ${reasons.join("; ")}`;
}

/**
 * Needs that only a person can meet. The agent does nothing more, so waiting for its idle time would lose that time.
 */
const hopeless: Readonly<Partial<Record<Question, string>>> = {
  login: "it is not logged in",
  credits: "its account has no credits left",
  "api-key": "it asks whether its API key may be used",
};

/**
 * Tells a person of a need at once, and takes it back when it is over. Fixed words: of the agent's text only its id
 * gets in.
 */
export function alertNeed(before: AgentRecord, after: AgentRecord, { mode }: Policy): Told {
  const [was, is] = [keyOf(before), keyOf(after)];
  const told = unchanged(after);
  if (mode === "observe" || was?.key === is?.key) return told;
  const { agentId } = after;
  const over = was === null ? told : { record: after, ...tellResolved(was.key, agentId) };
  return is === null ? over : join(over, { record: after, ...tellRaised(is.key, agentId, is.severity, is.summary) });
}

interface Need {
  readonly key: string;
  readonly severity: AlertSeverity;
  readonly summary: string;
}

function keyOf(record: AgentRecord): Need | null {
  const { agentId, incarnation } = lifeOf(record);
  const { terminal } = record.seen;
  const asks = terminal?.asks ?? null;
  const why = asks === null ? undefined : hopeless[asks.what];
  if (asks === null || why === undefined) return keyOfEnd(record) ?? keyOfLimit(record);
  return {
    key: `${agentId}/${incarnation}/needs-${asks.what}/${asks.since}`,
    severity: "critical",
    summary: `${agentId} waits for a person: ${why}`,
  };
}

/**
 * An end that nobody sees or acts on is told once to whoever started the agent. So is an agent that is to run always
 * and could not be started.
 */
function keyOfEnd(record: AgentRecord): Need | null {
  const { agentId, incarnation } = lifeOf(record);
  const { terminal } = record.seen;
  const { findings } = record.health;
  const { restart } = record.ending;
  const { incident, handedOver } = record.ladder;
  if (restart?.because === "kept-running" && (restart.problem !== null || restart.attempt > 1)) {
    const summary = `${agentId} is to run always and could not be started again`;
    return { key: `${agentId}/${incarnation}/not-kept-running`, severity: "critical", summary };
  }
  const ended = findings.find(({ kind }) => kind === "process-exited");
  const isElsewhere = incident !== null || handedOver !== null || isStartingAgain(record);
  if (
    ended === undefined ||
    ended.restrainedBy !== undefined ||
    !runsOnce(record) ||
    terminal?.foreground === true ||
    isElsewhere
  )
    return null;
  const summary = `${agentId}: ${ended.text}; it is not started again (--restart no)`;
  return { key: `${agentId}/${incarnation}/ended`, severity: "warning", summary };
}

/** The agent was to go on, but its program says that the limit stands for long. */
function keyOfLimit(record: AgentRecord): Need | null {
  const { agentId, incarnation } = lifeOf(record);
  const { limit } = record.seen;
  if (limit?.putOffFor === undefined || !(isStanding(limit) || isStartingAgain(record))) return null;
  return {
    key: `${agentId}/${incarnation}/limit-stands/${limit.since}`,
    severity: "warning",
    summary: `${agentId} has reached its provider's limit: by what its program says for another ${describeDuration(limit.putOffFor)}`,
  };
}
