import { type EscalationDecision, fleetId, type MonoMs, type Policy } from "@rouse/contract";
import type { Escalation } from "../incident.ts";
import type { ActionOutcome } from "../signal.ts";
import { type FleetDoings, type FleetStage, nothing, type Open, withdraw } from "./fleet-incident.ts";

/** What comes back to a question about the fleet: an answer, that somebody is on it, whether it arrived. `turnTo` keeps the stage that follows. */
export function answerFleet(
  incidents: Iterable<Open>,
  turnTo: (incident: Open, stage: FleetStage) => void,
  policy: () => Policy,
) {
  const findAsked = (escalation: string): { incident: Open; question: Escalation } | null => {
    for (const incident of incidents)
      if (incident.stage.kind === "asked" && incident.stage.question.id === escalation)
        return { incident, question: incident.stage.question };
    return null;
  };

  return {
    /** One decision for all. `null`: no such question is open. */
    decide(
      escalation: string,
      given: { decision: EscalationDecision; actor: string; reason: string; more: number | null },
      now: MonoMs,
    ): FleetDoings | null {
      const { decision, actor, reason, more } = given;
      const found = findAsked(escalation);
      if (found === null) return null;
      const { incident } = found;
      const over = withdraw(incident, `decided: ${decision}`);
      const until = now + (more ?? policy().escalation.timeout);
      turnTo(incident, decision === "allow_more_time" ? { kind: "more-time", until } : { kind: "decided" });
      const payload = { agentId: fleetId, escalation, decision, actor, reason };
      return {
        events: [{ type: "ESCALATION_DECIDED", payload }],
        actions: over.actions,
        decided: decision === "allow_more_time" ? null : { agents: [...incident.members], decision, actor },
      };
    },
    /** Somebody is on it. `null`: no such question is open. */
    acknowledge(escalation: string, actor: string, now: MonoMs): FleetDoings | null {
      const found = findAsked(escalation);
      if (found === null) return null;
      const { incident, question } = found;
      if (question.acknowledged !== null) return nothing;
      turnTo(incident, { kind: "asked", question: { ...question, acknowledged: { actor, at: now } } });
      const payload = { agentId: fleetId, escalation, actor };
      return { ...nothing, events: [{ type: "ESCALATION_ACKNOWLEDGED", payload }] };
    },
    /** What the hands say of the question. That nobody has it needs no alert of its own: there is one. */
    handsSaid(key: string, outcome: ActionOutcome): FleetDoings {
      const found = key.endsWith("/asked") ? findAsked(key.slice(0, -"/asked".length)) : null;
      if (found === null || found.question.delivery !== "queued") return nothing;
      const { incident, question } = found;
      const failed = outcome !== "delivered" && outcome.kind === "undelivered" ? outcome.problem : null;
      if (outcome !== "delivered" && failed === null) return nothing;
      const delivery = failed === null ? "delivered" : "failed";
      turnTo(incident, { kind: "asked", question: { ...question, delivery } });
      if (failed === null) return nothing;
      const payload = { agentId: fleetId, escalation: question.id, problem: failed };
      return { ...nothing, events: [{ type: "ESCALATION_UNDELIVERED", payload }] };
    },
  };
}
