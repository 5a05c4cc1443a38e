import { type AlertSeverity, describeDuration, type Policy, type Question, type RouseEvent } from "@rouse/contract";
import { isStanding } from "../limit.ts";
import { type AgentRecord, isStartingAgain } from "../record.ts";
import { runsOnce } from "../restart-rule.ts";
import type { Action } from "../signal.ts";

/** What nobody but a person can do, and without which the agent does nothing more: waiting for its idle time would only lose that time. */
const hopeless: Readonly<Partial<Record<Question, string>>> = {
  login: "it is not logged in",
  credits: "its account has no credits left",
  "api-key": "it asks whether its API key may be used",
};

interface Told {
  readonly events: readonly RouseEvent[];
  readonly actions: readonly Action[];
}

const nothing: Told = { events: [], actions: [] };

/** Tells a person at once, and takes it back when it is over. In fixed words: nothing an agent wrote gets in but its id. */
export function alertNeed(before: AgentRecord, after: AgentRecord, { mode }: Policy): Told {
  const [was, is] = [keyOf(before), keyOf(after)];
  if (mode === "observe" || was?.key === is?.key) return nothing;
  const { agentId } = after;
  const over: Told =
    was === null
      ? nothing
      : {
          events: [{ type: "ALERT_RESOLVED", payload: { agentId, alert: was.key } }],
          actions: [{ kind: "resolve-alert", key: `${was.key}/resolved`, agentId }],
        };
  if (is === null) return over;
  const { key: alert, severity, summary } = is;
  return {
    events: [...over.events, { type: "ALERT_RAISED", payload: { agentId, alert, severity, summary } }],
    actions: [...over.actions, { kind: "raise-alert", key: alert, agentId, severity, summary }],
  };
}

interface Need {
  readonly key: string;
  readonly severity: AlertSeverity;
  readonly summary: string;
}

function keyOf(record: AgentRecord): Need | null {
  const { agentId } = record;
  const { incarnation } = record.life;
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
 * Nobody sits before it, and nobody does anything about its end: one word to whoever started it. The same for one that is to run always and could not
 * be started.
 */
function keyOfEnd(record: AgentRecord): Need | null {
  const { agentId } = record;
  const { incarnation } = record.life;
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

/** It was to go on, and its own program says that it may not for long. The same while it is tried again. */
function keyOfLimit(record: AgentRecord): Need | null {
  const { agentId } = record;
  const { incarnation } = record.life;
  const { limit } = record.seen;
  if (limit?.putOffFor === undefined || !(isStanding(limit) || isStartingAgain(record))) return null;
  return {
    key: `${agentId}/${incarnation}/limit-stands/${limit.since}`,
    severity: "warning",
    summary: `${agentId} has reached its provider's limit: by what its program says for another ${describeDuration(limit.putOffFor)}`,
  };
}
