import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { EventType, SavedEvent } from "@rouse/contract";
import { makeFolder } from "./clean-up.ts";
import { spawnAgent } from "./held-agents.ts";
import { repository } from "./run-rouse.ts";
import { type Daemon, type DaemonPlan, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

export { fastPolicy } from "../packages/daemon/src/demo/fast-policy.ts";

const script = join(repository, "packages", "daemon", "dist", "demo-agent.js");

/**
 * Starts one of the small agents of `rouse demo`. It works through six steps, saves a checkpoint after each, and has
 * this weakness in its first life.
 */
export const startWeak = (
  { home }: Pick<Daemon, "home">,
  name: string,
  weakness: "worker" | "looper" | "hanger" | "crasher",
  options: readonly string[] = [],
) => spawnAgent(home, name, [process.execPath, script, weakness], ["--task", `task-of-${name}`, ...options]);

/** Makes a folder under git, so that there is work to be saved. */
export function makeRepository(): string {
  const folder = makeFolder();
  execFileSync("git", ["init", "-q"], { cwd: folder });
  return folder;
}

/** The events about an agent, in order. */
export const eventsOf = ({ rouse }: Daemon, agentId: string): Promise<SavedEvent[]> =>
  rouse.events({ after: 0, limit: 1000, agentId });

export const typesOf = async (daemon: Daemon, agentId: string): Promise<EventType[]> =>
  (await eventsOf(daemon, agentId)).map(({ type }) => type);

/** Waits for the first event of a type about an agent. */
export async function eventOnce<T extends EventType>(
  daemon: Daemon,
  agentId: string,
  type: T,
): Promise<Extract<SavedEvent, { type: T }>> {
  return until(`${type} of ${agentId}`, async () => {
    const found = (await eventsOf(daemon, agentId)).find((event) => event.type === type);
    return found as Extract<SavedEvent, { type: T }> | undefined;
  });
}

/** Kills the daemon and starts another on the same data, as after a power cut. */
export async function crashAndReturn(daemon: Daemon, plan: DaemonPlan = {}): Promise<Daemon> {
  await daemon.end("SIGKILL");
  return startDaemon({ ...plan, home: daemon.home });
}
