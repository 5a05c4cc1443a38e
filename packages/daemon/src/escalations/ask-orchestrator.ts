import type { AnswerRefusal, DecisionRequest, EpochMs, EscalationNotice, MonoMs } from "@rouse/contract";
import type { Action, ActionOutcome } from "@rouse/core";
import { type Given, givenBy } from "../orders/note-orders.ts";
import type { Orchestrator } from "../ports/orchestrator.ts";

type Of<K extends Action["kind"]> = Extract<Action, { kind: K }>;

export interface AskingParts {
  readonly orchestrator: Orchestrator;
  /** The question with its context, as it is now; `null` when it is not open any more. */
  notice(escalation: string): Promise<EscalationNotice | null>;
  decide(escalation: string, request: Given<DecisionRequest>): Promise<unknown>;
  noteRefusedAnswer(agentId: string, escalation: string, because: AnswerRefusal): void;
  toWall(at: MonoMs): EpochMs;
}

/** The hands' way to whoever decides. An answer that comes at once is taken in like any other, before the question counts as delivered. */
export function askOrchestrator({ orchestrator, notice, decide, noteRefusedAnswer, toWall }: AskingParts) {
  return {
    async ask({ escalation, until }: Of<"escalate">): Promise<ActionOutcome> {
      const asked = await notice(escalation);
      // Over already, as after a crash between the answer and the end of the asking.
      if (asked === null) return "delivered";
      const answer = await orchestrator.ask(asked, toWall(until));
      if (answer === "delivered") return "delivered";
      // Whoever listens there is not whom we wanted to ask: the question stays open, and a person is told that nobody has it.
      if ("refused" in answer) noteRefusedAnswer(asked.agentId, escalation, answer.refused);
      if ("problem" in answer) return { kind: "undelivered", problem: answer.problem };
      await decide(escalation, givenBy("orchestrator:webhook", answer.decided));
      return "delivered";
    },
    withdraw: ({ escalation, agentId, because }: Of<"withdraw-escalation">): Promise<void> =>
      orchestrator.withdraw(escalation, agentId, because),
  };
}
