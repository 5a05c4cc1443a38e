import {
  admitCall,
  ageOutAfter,
  type Breaker,
  type BreakerRules,
  type CallEnd,
  closedBreaker,
  endCall,
  type MonoMs,
  type RouseEvent,
  recoveryOperation,
  resetBreaker,
  wireStates,
} from "@rouse/contract";
import type { Context } from "./context.ts";
import type { RecoveryGate } from "./incident.ts";
import type { AgentRecord } from "./record.ts";

type Recovery = AgentRecord["recovery"];

/** When the next attempt may begin; `null`: now. */
export function gateOpensAt({ recovery: { gate } }: AgentRecord, { now, policy }: Context): MonoMs | null {
  if (gate === null) return null;
  const admission = admitCall(gate.breaker, now, policy.recovery.breaker);
  return admission.admitted ? null : admission.retryAt;
}

/** Lets an attempt through. One that somebody decided goes through whatever happened before. */
export function beginAttempt(recovery: Recovery, after: number, { now, policy }: Context): Recovery {
  const gate = recovery.gate ?? { breaker: closedBreaker, since: now, trips: 0, attempt: null };
  const rules = policy.recovery.breaker;
  const first = admitCall(gate.breaker, now, rules);
  const admission = first.admitted ? first : admitCall(resetBreaker(gate.breaker), now, rules);
  if (!admission.admitted) return recovery;
  return {
    ...recovery,
    gate: { ...moved(gate, admission.breaker, now), attempt: { ticket: admission.ticket, after } },
  };
}

export function endAttempt(gate: RecoveryGate, end: CallEnd, { now, policy }: Context): RecoveryGate {
  if (gate.attempt === null) return gate;
  const breaker = endCall(gate.breaker, gate.attempt.ticket, end, now, policy.recovery.breaker);
  return { ...moved(gate, breaker, now), attempt: null };
}

/** A person looked at it: what failed before says nothing any more. */
export const reopenGate = (gate: RecoveryGate | null, now: MonoMs): RecoveryGate | null =>
  gate === null ? null : { ...moved(gate, resetBreaker(gate.breaker), now), attempt: null };

/** When failures that nobody tries to mend say nothing any more; `null` while it is closed. */
export const gateAgesOutAt = ({ breaker, since }: RecoveryGate, rules: BreakerRules): MonoMs | null =>
  breaker.state === "closed" ? null : (breaker.state === "open" ? breaker.reopenAt : since) + ageOutAfter(rules);

function moved(gate: RecoveryGate, breaker: Breaker, now: MonoMs): RecoveryGate {
  if (breaker.state === gate.breaker.state) return { ...gate, breaker };
  return { ...gate, breaker, since: now, trips: gate.trips + (breaker.state === "open" ? 1 : 0) };
}

/** Nothing under way, and nothing that ages out. */
export const isAtRest = ({ breaker, attempt }: RecoveryGate): boolean => attempt === null && breaker.state === "closed";

/** A change of the gate is told like that of any breaker. */
export function noticeGate(before: AgentRecord, { agentId, recovery: { gate } }: AgentRecord): RouseEvent[] {
  if (gate === null) return [];
  const from = wireStates[before.recovery.gate?.breaker.state ?? "closed"];
  const to = wireStates[gate.breaker.state];
  if (from === to) return [];
  return [{ type: "CIRCUIT_BREAKER_STATE_CHANGED", payload: { name: `${agentId}/${recoveryOperation}`, from, to } }];
}
