import {
  AgentAnswer,
  type AgentHealth,
  AgentId,
  CheckpointRequest,
  DecisionRequest,
  type EpochMs,
  EscalationId,
  Fault,
  Id,
  overWord,
} from "@rouse/contract";
import type { RouseClient } from "@rouse/sdk";
import { z } from "zod";
import { showWhy } from "../cli/show/why.ts";
import { paintLine } from "../cli/text/styled-text.ts";

/** Who calls a tool, and the client that answers it. */
export interface Caller {
  readonly rouse: RouseClient;
  /** The caller's own agent and task, for calls that name none; `null` when it is no agent, or did not say which. */
  readonly self: string | null;
  readonly task: string | null;
  /** The token is an agent's own: it shows that agent, and others as far as its policy allows. */
  readonly onlyItself: boolean;
  readonly now: EpochMs;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** The tool changes nothing. */
  readonly reads: boolean;
  /** Resolves with text, or with a document. */
  run(caller: Caller, input: unknown): Promise<unknown>;
}

function tool<I extends z.ZodObject>(
  about: { readonly name: string; readonly description: string; readonly input: I; readonly reads: boolean },
  run: (caller: Caller, input: z.infer<I>) => Promise<unknown>,
): Tool {
  return { ...about, run: (caller, input) => run(caller, input as z.infer<I>) };
}

const agent = AgentId.describe("id of an agent, as list_agents names it");
const agentOrSelf = AgentId.optional().describe("id of the agent it is about; without it, the one whose token this is");
const ownAgent = AgentId.optional().describe("id of the agent that speaks; without it, the one whose token this is");

const selfOf = ({ self }: Caller, named: string | undefined): string => {
  const agentId = named ?? self;
  if (agentId === null) throw new Fault("bad-request", "which agent is it about? give `agent`");
  return agentId;
};

/** An agent whose policy shows it nobody else still sees itself. */
const orItself = (rouse: Caller["rouse"], self: string) => async (error: unknown) => {
  if (!(error instanceof Fault && error.code === "forbidden")) throw error;
  return [await rouse.getAgentHealth(self)];
};

/** Columns of `rouse why` for a reader without a terminal. */
const width = 120;

/** Each tool calls the API, which decides who may ask for what. */
export const tools: readonly Tool[] = [
  tool(
    {
      name: "list_agents",
      description:
        "Every agent that is known, with its health and what it does. With an agent's own token: those its policy lets it see.",
      input: z.object({
        filter: z
          .literal("unhealthy")
          .optional()
          .describe("only those that are not well, or ended and are a person's matter"),
      }),
      reads: true,
    },
    async ({ rouse, self, onlyItself }, { filter }) => {
      const all = rouse.getAllAgentHealth(filter === undefined ? {} : { filter });
      const agents = await (onlyItself && self !== null ? all.catch(orItself(rouse, self)) : all);
      return { agents: agents.map(inShort) };
    },
  ),
  tool(
    {
      name: "agent_health",
      description: "All that is known of one agent's health now: state, activity, findings, incident, terminal.",
      input: z.object({ agent: agentOrSelf }),
      reads: true,
    },
    (caller, { agent: named }) => caller.rouse.getAgentHealth(selfOf(caller, named)),
  ),
  tool(
    {
      name: "why",
      description: "Why an agent is in its state: evidence, clocks, what Rouse will do next. As `rouse why` prints it.",
      input: z.object({ agent: agentOrSelf }),
      reads: true,
    },
    async (caller, { agent: named }) => {
      const report = await caller.rouse.why(selfOf(caller, named));
      return showWhy(report, caller.now, width)
        .map((line) => paintLine(line, false))
        .join("\n");
    },
  ),
  tool(
    {
      name: "check_in",
      description:
        "For a working agent: fetch what Rouse has to tell it (nudges; they count as seen) and, if it likes, say where it is.",
      input: z.object({
        agent: ownAgent,
        where: AgentAnswer.shape.text.describe("where the work stands, in a sentence"),
      }),
      reads: false,
    },
    async (caller, { agent: named, where }) => {
      const agentId = selfOf(caller, named);
      // This is said first, so that it does not count as an answer to the nudges that are fetched next.
      if (where !== undefined) await caller.rouse.answerNudge(agentId, { kind: "update", text: where });
      return caller.rouse.checkIn(agentId);
    },
  ),
  tool(
    {
      name: "save_checkpoint",
      description: "For a working agent: save where a task stands, so that whoever goes on continues after this step.",
      input: CheckpointRequest.pick({ step: true, stepName: true, state: true }).extend({
        task: Id.optional().describe("id of the task; without it, the one this agent was started for"),
      }),
      reads: false,
    },
    (caller, { task, ...checkpoint }) => {
      const taskId = task ?? caller.task;
      if (taskId === null) throw new Fault("bad-request", "which task is it about? give `task`");
      return caller.rouse.saveCheckpoint(taskId, checkpoint);
    },
  ),
  tool(
    {
      name: "ask_hand_off",
      description: "For a working agent: ask that somebody else takes its task over. Who decides is asked at once.",
      input: z.object({ agent: ownAgent, reason: AgentAnswer.shape.text.describe("why, in a sentence") }),
      reads: false,
    },
    (caller, { agent: named, reason }) =>
      caller.rouse.answerNudge(selfOf(caller, named), {
        kind: "handoff",
        ...(reason === undefined ? {} : { text: reason }),
      }),
  ),
  tool(
    {
      name: "list_escalations",
      description: "Questions about agents that wait for a decision, with what happens without one and by when.",
      input: z.object({ agent: agent.optional() }),
      reads: true,
    },
    async ({ rouse }, { agent: about }) => ({
      escalations: await rouse.escalations(about === undefined ? {} : { agentId: about }),
    }),
  ),
  tool(
    {
      name: "decide_escalation",
      description: "Answer such a question, once. Needs a token of role owner or orchestrator.",
      input: DecisionRequest.pick({ decision: true, reason: true, minutes: true }).extend({ id: EscalationId }),
      reads: false,
    },
    ({ rouse }, { id, ...decision }) => rouse.decide(id, decision),
  ),
];

/** What an orchestrator looks at first; the rest is in agent_health. */
const inShort = ({ agentId, taskId, state, over, stateReason, stateChangedAt, activity, ...rest }: AgentHealth) => ({
  agentId,
  taskId,
  state,
  over: over ? overWord(over) : null,
  stateReason,
  stateChangedAt,
  activity,
  findings: rest.findings.map(({ kind, level, text }) => ({ kind, level, text })),
  incident: rest.incident === null ? null : { id: rest.incident.id, stage: rest.incident.stage },
  handedOver: rest.handedOver,
  needsYou: rest.terminal?.needsYou?.what ?? null,
});
