import type { MonoMs, Policy, RouseEvent } from "@rouse/contract";
import { type RestartDecision, recentRestarts } from "../decide/choose-restart.ts";
import type { Intervened } from "../intervene/alert-life.ts";
import type { AgentRecord } from "../record.ts";
import type { Signal } from "../signal.ts";

/** The life of an order to start again: decided and saved, done by the hands; the new life itself is told by its holder. */
export function carryOutRestart(
  record: AgentRecord,
  decision: RestartDecision,
  signal: Signal,
  now: MonoMs,
  policy: Policy,
): Intervened {
  const answered = takeAnswer(record, signal);
  switch (decision.kind) {
    case "nothing":
    case "wait":
      return answered;
    case "exhausted":
      return giveUp(answered, decision.attempts, policy);
    case "restart":
      return order(answered, decision, now, policy);
  }
}

function order(
  before: Intervened,
  decision: Extract<RestartDecision, { kind: "restart" }>,
  now: MonoMs,
  policy: Policy,
): Intervened {
  const { record } = before;
  const { agentId, incarnation } = record;
  const { key, because, attempt } = decision;
  // A person's order is not held against the agent.
  const restarts = because === "ordered" ? record.restarts : [...recentRestarts(record, now, policy), now];
  return {
    record: { ...record, restarts, restart: { key, because, orderedAt: now, problem: null } },
    events: [...before.events, { type: "RESTART_ORDERED", payload: { agentId, incarnation, key, because, attempt } }],
    actions: [...before.actions, { kind: "restart-agent", key, agentId, incarnation }],
  };
}

/** From here on it is a person's matter: the alert stands until they act. */
function giveUp(before: Intervened, attempts: number, policy: Policy): Intervened {
  const { record } = before;
  const problem = "restarts exhausted";
  const { agentId } = record;
  const windowSeconds = Math.round(policy.restart.window / 1000);
  return {
    record: { ...record, restart: { key: "", because: "process-exited", orderedAt: record.health.since, problem } },
    events: [...before.events, { type: "RESTARTS_EXHAUSTED", payload: { agentId, attempts, windowSeconds } }],
    actions: before.actions,
  };
}

/** The next life has begun, and we asked for it. */
export function noticeRestart(before: AgentRecord, after: AgentRecord): RouseEvent[] {
  if (before.restart === null || before.restart.problem !== null || after.incarnation === before.incarnation) return [];
  const { agentId } = after;
  const cause = before.terminal?.exit?.cause ?? null;
  const payload = { agentId, from: before.incarnation, to: after.incarnation, because: before.restart.because, cause };
  return [{ type: "AGENT_RESTARTED", payload }];
}

function takeAnswer(record: AgentRecord, signal: Signal): Intervened {
  const { restart, agentId, incarnation } = record;
  const unchanged: Intervened = { record, events: [], actions: [] };
  if (
    signal.kind !== "action-outcome" ||
    restart === null ||
    restart.key !== signal.key ||
    signal.outcome === "delivered"
  )
    return unchanged;
  if (signal.outcome.kind !== "not-restarted") return unchanged;
  const { problem } = signal.outcome;
  return {
    ...unchanged,
    record: { ...record, restart: { ...restart, problem } },
    events: [{ type: "RESTART_FAILED", payload: { agentId, incarnation, problem } }],
  };
}
