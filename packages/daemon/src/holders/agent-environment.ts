import { join, resolve } from "node:path";
import { mintAgentToken } from "../home/agent-token.ts";

interface AgentIdentity {
  readonly agentId: string;
  readonly taskId: string | null;
  readonly incarnation: number;
}

interface MonitorAddress {
  readonly url: string;
  /** The owner's token: never passed on, only used to make the agent's own. */
  readonly token: string;
  /** The data folder. */
  readonly home: string;
}

/** What an agent is told about the monitor and itself. Its token is valid for this life of this agent only. */
export function environmentFor(
  base: Readonly<Record<string, string>>,
  { agentId, taskId, incarnation }: AgentIdentity,
  { url, token, home }: MonitorAddress,
  recovery?: string | undefined,
): Record<string, string> {
  const { ROUSE_TASK_ID: _task, ROUSE_RECOVERY: _recovery, ...rest } = base;
  return {
    ...rest,
    ROUSE_URL: url,
    ROUSE_AGENT_ID: agentId,
    ROUSE_INCARNATION: String(incarnation),
    ROUSE_TOKEN: mintAgentToken(token, { agentId, taskId, incarnation }),
    // Not ROUSE_HOME: an agent may have one of its own, and what it starts would find the owner's token in ours.
    ROUSE_UNSENT: join(resolve(home), "unsent"),
    ...(taskId === null ? {} : { ROUSE_TASK_ID: taskId }),
    ...(recovery === undefined ? {} : { ROUSE_RECOVERY: recovery }),
  };
}
