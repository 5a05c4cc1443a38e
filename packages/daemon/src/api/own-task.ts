import type { HoldsTask } from "../home/agent-token.ts";
import type { AgentSpeaker } from "./speaker.ts";

type Said = Record<string, unknown>;

/**
 * What an agent says, without the name of a task that is not its own. Whoever works through a queue may not have heard yet that a task was taken from
 * it, and hears it only if it is listened to: the name does not count, the rest does. One whose token names its task knows better.
 */
export function leaveForeignTask(agent: AgentSpeaker, said: Said, holds: HoldsTask): Said {
  const { taskId, ...rest } = said;
  const isForeign = agent.taskId === null && typeof taskId === "string" && !holds(agent.agentId, taskId);
  return isForeign ? rest : said;
}
