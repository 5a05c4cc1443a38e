import type { TreeTier } from "@rouse/contract";
import { type AgentGroup, makeGroup } from "./processes/cgroup.ts";
import { markVariable, readProcess, type TreeRoot } from "./processes/read-processes.ts";
import type { Size } from "./protocol/messages.ts";
import { inputOf, type ProcessId, type Spec } from "./protocol/spec.ts";
import type { AgentProcess, Ears, Start } from "./terminal/agent-process.ts";

export interface StartedAgent {
  readonly process: AgentProcess;
  readonly id: ProcessId;
  readonly tier: TreeTier;
  readonly group: AgentGroup | null;
  /** What the agent's processes are found by. */
  readonly root: TreeRoot;
}

/** Starts the agent where all its children can be found again. `env` is added to the environment of its spec. */
export async function startAgent(
  spec: Spec,
  { command, env }: Pick<Start, "command"> & { readonly env: Readonly<Record<string, string>> },
  size: Size,
  mark: string,
  ears: Ears,
): Promise<StartedAgent> {
  const group = makeGroup(spec.agentId);
  const start: Start = {
    command,
    cwd: spec.cwd,
    env: { ...spec.env, ...env, [markVariable]: mark },
    ...size,
    spawnInside: (fork) => (group === null ? fork() : group.spawnInside(fork)),
  };
  try {
    const process = await open(spec, start, ears);
    const id = identify(process.pid);
    return { process, id, group, tier: group === null ? "marked" : "cgroup", root: rootOf(spec, id, mark, group) };
  } catch (error) {
    group?.remove();
    throw error;
  }
}

/** Loads either module only for agents that need it. */
async function open(spec: Spec, start: Start, ears: Ears): Promise<AgentProcess> {
  switch (spec.io) {
    case "terminal":
      return (await import("./terminal/open-terminal.ts")).openTerminal(start, ears);
    case "pipes":
      return (await import("./terminal/open-pipes.ts")).openPipes(
        start,
        { foreground: spec.foreground, takesMessages: inputOf(spec) === "stdin" },
        ears,
      );
  }
}

/** The start time of an agent that ended before we looked is unknown, but not earlier than ours. */
function identify(pid: number): ProcessId {
  const startTicks = (readProcess(pid) ?? readProcess(process.pid))?.startTicks ?? 0;
  return { pid, startTicks };
}

/**
 * Between pipes in the foreground the agent is in our own process group, together with the rest of the pipeline.
 * Otherwise the agent leads a session of its own, by which processes are found that it left behind before the first
 * look.
 */
function rootOf(spec: Spec, agent: ProcessId, mark: string, group: AgentGroup | null): TreeRoot {
  const shared = spec.io === "pipes" && spec.foreground;
  const ownGroup = shared ? 0 : (readProcess(process.pid)?.pgid ?? 0);
  const sessions = shared ? [] : [agent.pid];
  return { agent, mark, cgroup: group?.folder ?? null, ownGroup, useGroup: !shared, known: [], sessions };
}
