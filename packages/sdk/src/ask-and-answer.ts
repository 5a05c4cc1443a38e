import type {
  AgentAnswer,
  AnswerAck,
  CheckInAnswer,
  ClosedEscalation,
  EscalationReport,
  EscalationResult,
  EscalationService,
  NudgeResult,
} from "@rouse/contract";
import { agentPath, escalationPath } from "./agent-path.ts";
import { ask, askAll, type Once, searchFor, withSearch } from "./call-api.ts";
import type { Line } from "./open-line.ts";

/** Questions about unhealthy agents: asking them, answering them, and what the agents themselves answer. */
export interface AskAndAnswer extends EscalationService {
  /** Sends a message to an agent by the best way there is; without a message, the policy's reminder. */
  sendNudge(agentId: string, message?: string, actor?: string, once?: Once): Promise<NudgeResult>;
  /** Questions that no longer wait for an answer, with how they ended, newest first. */
  closedEscalations(page?: { agentId?: string; limit?: number; cursor?: string }): Promise<ClosedPage>;
  escalateToOrchestrator(agentId: string, reason: string, actor?: string): Promise<EscalationResult>;
  /** For the agent itself: it goes on, wants to hand over, or is blocked. Its own token is enough. */
  answerNudge(agentId: string, answer: AgentAnswer): Promise<AnswerAck>;
  /** For the agent itself: fetches the nudges it has not seen; they count as seen then. Needs no heartbeats. */
  checkIn(agentId: string): Promise<CheckInAnswer>;
}

export interface ClosedPage {
  readonly escalations: ClosedEscalation[];
  readonly next: string | null;
}

interface OpenPage {
  readonly escalations: EscalationReport[];
  readonly next: string | null;
}

export function askAndAnswer(line: Line): AskAndAnswer {
  return {
    async escalations({ agentId } = {}) {
      const pages = await askAll<OpenPage>(line, "/api/v1/escalations", searchFor({ agentId }));
      return pages.flatMap(({ escalations }) => escalations);
    },
    escalation: async (id) => ask(line, { path: escalationPath(id) }),
    decide: async (id, decision) => ask(line, { path: `${escalationPath(id)}/decision`, body: decision }),
    acknowledge: async (id, by = {}) => ask(line, { path: `${escalationPath(id)}/acknowledge`, body: by }),
    closedEscalations: async (page = {}) =>
      ask(line, { path: withSearch("/api/v1/escalations", searchFor({ state: "closed", ...page })) }),
    sendNudge: async (agentId, message, actor, once) =>
      ask(line, { path: `${agentPath(agentId)}/nudge`, body: { message, actor }, key: once?.key }),
    escalateToOrchestrator: async (agentId, reason, actor) =>
      ask(line, { path: `${agentPath(agentId)}/escalate`, body: { reason, actor } }),
    answerNudge: async (agentId, answer) => ask(line, { path: `${agentPath(agentId)}/answers`, body: answer }),
    checkIn: async (agentId) => ask(line, { path: `${agentPath(agentId)}/check-in`, body: {} }),
  };
}
