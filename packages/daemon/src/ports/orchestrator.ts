import type { AnswerRefusal, DecisionRequest, EpochMs, EscalationNotice } from "@rouse/contract";

/** Delivered; delivered and answered at once; not taken; or taken, but with an answer that is not rightly signed. */
export type Asked =
  | "delivered"
  | { readonly decided: DecisionRequest }
  | { readonly problem: string }
  | { readonly refused: AnswerRefusal; readonly problem: string };

/**
 * Answers escalations by program. The promises:
 * - `ask` resolves once the question is delivered, or with the problem when it is not, and before `until`, so that a
 *   person can still be told. It may be called again with the same notice after a crash; the orchestrator can tell by
 *   the id.
 * - A decision counts only when it is signed with the secret and for this very question.
 * - `withdraw` also ends an `ask` of the same escalation that is under way. It is tried once or twice and never
 *   rejects.
 * - After `close` nothing is sent; an `ask` that was under way rejects, because its outcome is not known. Closing twice
 *   is fine.
 */
export interface Orchestrator {
  ask(notice: EscalationNotice, until: EpochMs): Promise<Asked>;
  /** Says that the question need not be answered any more. */
  withdraw(escalation: string, agentId: string, because: string): Promise<void>;
  close(): void;
}
