import type { MonoMs, Policy, RouseEvent } from "@rouse/contract";
import type { StopDecision } from "../decide/choose-stop.ts";
import type { AgentRecord } from "../record.ts";
import type { ActionOutcome, Signal } from "../signal.ts";
import type { StopLife } from "../terminal-facts.ts";
import type { Intervened } from "./alert-life.ts";

/** The life of an order to stop: decided and saved, carried out by the holder, and answered. Survivors are never called done. */
export function carryOutStop(
  record: AgentRecord,
  decision: StopDecision,
  signal: Signal,
  now: MonoMs,
  policy: Policy,
): Intervened {
  const answered = takeAnswer(record, signal);
  switch (decision.kind) {
    case "nothing":
      return forgetRefusal(answered);
    case "refuse":
      return refuse(answered, decision);
    case "stop":
      return order(answered, decision, now, policy);
  }
}

function order(
  before: Intervened,
  decision: Extract<StopDecision, { kind: "stop" }>,
  now: MonoMs,
  policy: Policy,
): Intervened {
  const { agentId, incarnation } = before.record;
  const { key, cause, actor, thenRestart } = decision;
  const stop: StopLife = { key, cause, orderedAt: now, thenRestart, outcome: null };
  return {
    record: { ...before.record, stop, stopRefused: null },
    events: [
      ...before.events,
      { type: "TERMINATION_ORDERED", payload: { agentId, incarnation, key, actor, because: cause } },
    ],
    actions: [...before.actions, { kind: "stop-agent", key, agentId, incarnation, grace: policy.stopGrace }],
  };
}

/** The same refusal is told once, a person's order each time. */
function refuse(before: Intervened, { cause, because }: Extract<StopDecision, { kind: "refuse" }>): Intervened {
  const { record } = before;
  if (cause !== "ordered" && record.stopRefused === because) return before;
  return {
    record: { ...record, stopRefused: because },
    events: [...before.events, { type: "TERMINATION_REFUSED", payload: { agentId: record.agentId, because, cause } }],
    actions: before.actions,
  };
}

/** Nothing argues for stopping it any more: if something does again, its refusal is news again. */
const forgetRefusal = (before: Intervened): Intervened =>
  before.record.stopRefused === null ? before : { ...before, record: { ...before.record, stopRefused: null } };

function takeAnswer(record: AgentRecord, signal: Signal): Intervened {
  const { stop } = record;
  const unchanged: Intervened = { record, events: [], actions: [] };
  if (stop === null || signal.kind !== "action-outcome" || signal.key !== stop.key || !isStop(signal.outcome))
    return unchanged;
  const outcome = signal.outcome.stop;
  return { record: { ...record, stop: { ...stop, outcome } }, events: describe(record, stop, outcome), actions: [] };
}

const isStop = (outcome: ActionOutcome): outcome is Extract<ActionOutcome, { kind: "stop" }> =>
  outcome !== "delivered" && outcome.kind === "stop";

function describe(record: AgentRecord, stop: StopLife, outcome: NonNullable<StopLife["outcome"]>): RouseEvent[] {
  const { agentId, incarnation, taskId } = record;
  const { cause: because } = stop;
  switch (outcome.kind) {
    case "stopped": {
      const over: RouseEvent = {
        type: "AGENT_TERMINATED",
        payload: { agentId, incarnation, because, forced: outcome.forced },
      };
      // A loop on one error needs somebody to look; everything else is left for whoever takes the task up next.
      if (because !== "repeated-error" || taskId === null) return [over];
      return [over, { type: "TASK_BLOCKED", payload: { agentId, taskId, because } }];
    }
    case "already-over":
      return [{ type: "TERMINATION_REFUSED", payload: { agentId, because: "already-over", cause: because } }];
    case "refused":
      return [{ type: "TERMINATION_REFUSED", payload: { agentId, because: "identity", cause: because } }];
    case "termination_incomplete":
      return [{ type: "TERMINATION_INCOMPLETE", payload: { agentId, incarnation, survivors: [...outcome.survivors] } }];
  }
}
