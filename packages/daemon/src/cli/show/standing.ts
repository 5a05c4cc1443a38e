import {
  type AgentHealth,
  type ExitStatus,
  exitWord,
  healthStates,
  isGoodEnd,
  isPersonsMatter,
  overWord,
  type SystemStatus,
} from "@rouse/contract";
import { type Line, type Span, styled, styledState } from "../text/styled-text.ts";

type Standing = Pick<AgentHealth, "state" | "over">;
type Ending = Pick<AgentHealth, "state" | "over" | "limit" | "terminal">;

/** An agent's standing in one word: its state while it lives, afterwards how it ended. */
export const standingWord = ({ state, over }: Standing): string => (over ? overWord(over) : state);

/** The standing as one of the words that `ps --state` takes. */
export const stateWord = ({ state, over }: Standing): string => (over ? over.how.toUpperCase() : state);

/** An agent as JSON for scripts. Of an agent that is over, the API's `state` (as it ended) is `over.was` here. */
export const agentDocument = (agent: AgentHealth) =>
  agent.over ? { ...agent, state: stateWord(agent), over: { ...agent.over, was: agent.state } } : agent;

export function styledStanding({ state, over }: Standing): Span {
  if (!over) return styledState(state);
  return styled(isGoodEnd(over) || over.how === "terminated" ? "dim" : "red", overWord(over));
}

/**
 * How an agent's process failed while processes that it left keep the agent from being over; `null` otherwise. Once the
 * last of them ends, the agent's standing says it.
 */
export function failedBefore({ state, over, limit, terminal }: Ending): ExitStatus | null {
  if (over || terminal === null || terminal.exit === null || terminal.leftovers === undefined) return null;
  const { exit, completedAt, foreground } = terminal;
  const isIll = state !== "HEALTHY" && state !== "DEGRADED";
  const startsAgain = limit !== null && !foreground;
  const isDone = exit.code === 0 || exit.cause === "person" || completedAt !== null;
  return isIll || startsAgain || isDone ? null : exit;
}

/** Whether an agent is over and needs nobody: lists leave it out. */
export const isDoneWith = (agent: AgentHealth): boolean => Boolean(agent.over) && !isPersonsMatter(agent);

/** Whether an agent needs a person: at its terminal, for a question about it, or because nobody else can help it. */
export const needsPerson = (agent: AgentHealth): boolean =>
  isPersonsMatter(agent) || agent.terminal?.needsYou != null || agent.incident?.escalation != null;

/** "exited 7"; for a status 0 after which its program reported a failure, that its turn failed. */
export const describeEnd = ({ code, signal }: ExitStatus, failed: boolean): string =>
  code === 0 && failed ? "exited 0, its turn failed" : exitWord({ code, signal });

/** "3 are over: 2 finished, 1 exited 7". Empty when nobody is. */
export function countOver(agents: readonly AgentHealth[]): string {
  const words = agents.flatMap(({ over }) => (over ? [overWord(over)] : []));
  if (words.length === 0) return "";
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const named = [...counts].map(([word, n]) => `${n} ${word === word.toUpperCase() ? word.toLowerCase() : word}`);
  const most = 5;
  const listed = named.length > most ? [...named.slice(0, most - 1), "others"] : named;
  if (words.length === 1) return `1 is over: ${listed[0]?.slice(2)}`;
  return `${words.length} are over: ${listed.join(", ")}`;
}

/** How many agents are in each state, then how many are over. Together they are all agents. */
export function countStandings({ agents_by_state, agents_over }: SystemStatus): Line[] {
  const states = healthStates.filter((state) => agents_by_state[state]);
  const ends = (["finished", "exited"] as const).filter((how) => agents_over?.[how]);
  return [
    ...states.map((state) => [styledState(state), ` ${agents_by_state[state]}`]),
    ...ends.map((how) => [styled("dim", how), ` ${agents_over?.[how]}`]),
  ];
}
