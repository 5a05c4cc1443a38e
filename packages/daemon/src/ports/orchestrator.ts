import type { AnswerRefusal, DecisionRequest, EpochMs, EscalationNotice } from "@rouse/contract";

/** Somebody has it; somebody has it and answered at once; nobody took it; or whoever took it could not show that its answer counts. */
export type Asked =
  | "delivered"
  | { readonly decided: DecisionRequest }
  | { readonly problem: string }
  | { readonly refused: AnswerRefusal; readonly problem: string };

/**
 * Whoever decides what becomes of an agent when the ladder needs a word. The promises:
 * - `ask` resolves once somebody has it, or with the problem when nobody took it, and in time: before `until`, so that a person can still be told.
 *   It may be called again with the same notice after a crash; whoever is asked can tell by the id.
 * - A decision is handed on only when whoever gave it showed that it knows the secret and answers this very question.
 * - `withdraw` also ends an `ask` of the same escalation that is still under way. It is tried once or twice, never rejects, and nobody waits for it.
 * - After `close` nothing is sent any more; an `ask` that was under way rejects, because its outcome is not known. Closing twice is fine.
 */
export interface Orchestrator {
  ask(notice: EscalationNotice, until: EpochMs): Promise<Asked>;
  /** It need not be answered any more. */
  withdraw(escalation: string, agentId: string, because: string): Promise<void>;
  close(): void;
}
