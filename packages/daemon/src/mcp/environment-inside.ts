import { Fault } from "@rouse/contract";
import { markVariable, readIfThere, readProcess } from "@rouse/holder";

/** Variables that tell an agent who it is and where Rouse is. */
const given = ["ROUSE_URL", "ROUSE_TOKEN", "ROUSE_AGENT_ID", "ROUSE_TASK_ID", "ROUSE_INCARNATION"] as const;
const mostAncestors = 64;

/**
 * Adds the variables of the agent that this process runs in. Programs such as Codex and Gemini CLI start MCP servers
 * without most of their environment; such a server must not speak with the owner's token.
 */
export function environmentInside(environment: NodeJS.ProcessEnv, pid = process.pid): NodeJS.ProcessEnv {
  if (environment.ROUSE_TOKEN) return environment;
  const agent = environmentOfAgent(pid);
  if (agent === null) return environment;
  if (!agent.get("ROUSE_TOKEN"))
    throw new Fault("unauthorized", "this runs inside an agent that has no token of its own to speak with");
  const own = given.flatMap((name) => (agent.has(name) ? [[name, agent.get(name)] as const] : []));
  return { ...environment, ...Object.fromEntries(own) };
}

/** The environment of the nearest parent process that has an agent's mark; `null` when there is none. */
function environmentOfAgent(pid: number): ReadonlyMap<string, string> | null {
  let at = pid;
  let marked: ReadonlyMap<string, string> | null = null;
  for (let steps = 0; at > 1 && steps < mostAncestors; steps++) {
    const environment = environmentOf(at);
    if (environment.has(markVariable)) {
      // A process between the agent and us may have kept the mark and dropped the token.
      marked = environment;
      if (environment.get("ROUSE_TOKEN")) return environment;
    }
    at = readProcess(at)?.ppid ?? 0;
  }
  return marked;
}

function environmentOf(pid: number): ReadonlyMap<string, string> {
  const pairs = readIfThere(`/proc/${pid}/environ`)?.split("\0") ?? [];
  return new Map(pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)] as const));
}
