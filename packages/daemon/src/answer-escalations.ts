import { AcknowledgeRequest, DecisionRequest, type DecisionResult, type EscalationService } from "@rouse/contract";
import { tooLate } from "./api/escalations.ts";
import { readRequest } from "./api/route.ts";
import type { Help } from "./build-services.ts";
import type { Answered } from "./escalations/take-words.ts";
import { givenBy } from "./orders/note-orders.ts";

/** Questions about agents for a program that has the monitor inside: the same methods as over HTTP, with the same answers and faults. */
export function answerEscalations({ words, escalations }: Pick<Help, "words" | "escalations">): EscalationService {
  return {
    async escalations({ agentId } = {}) {
      const open = words.escalations();
      return agentId === undefined ? open : open.filter((one) => one.agentId === agentId);
    },
    async escalation(id) {
      const notice = await escalations.notice(id);
      if (notice === null) throw tooLate(id, await escalations.howItEnded(id));
      return notice;
    },
    decide: async (id, decision) =>
      resultOf(id, await words.decide(id, givenBy("owner", readRequest(DecisionRequest, decision)))),
    acknowledge: async (id, by) =>
      resultOf(id, await words.acknowledge(id, "owner", readRequest(AcknowledgeRequest, by).actor)),
  };
}

function resultOf(escalation: string, answered: Answered): DecisionResult {
  if (answered.outcome === "taken") return { escalation, outcome: "taken" };
  throw tooLate(escalation, answered.outcome === "over" ? answered.ended : null);
}
