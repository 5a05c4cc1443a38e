import type { Policy, Question, RouseEvent } from "@rouse/contract";
import type { AgentRecord } from "../record.ts";
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
  const { key: alert, summary } = is;
  return {
    events: [...over.events, { type: "ALERT_RAISED", payload: { agentId, alert, severity: "critical", summary } }],
    actions: [...over.actions, { kind: "raise-alert", key: alert, agentId, severity: "critical", summary }],
  };
}

function keyOf({ agentId, incarnation, terminal }: AgentRecord): { key: string; summary: string } | null {
  const asks = terminal?.asks ?? null;
  const why = asks === null ? undefined : hopeless[asks.what];
  if (asks === null || why === undefined) return null;
  return {
    key: `${agentId}/${incarnation}/needs-${asks.what}/${asks.since}`,
    summary: `${agentId} waits for a person: ${why}`,
  };
}
