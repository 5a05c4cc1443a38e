import { setTimeout as sleep } from "node:timers/promises";
import { enroll } from "./fleet.ts";
import { type Line, line } from "./report.ts";
import {
  loadFrom,
  makeDataFolder,
  readJson,
  removeDataFolder,
  type Server,
  startDaemon,
  startLoad,
} from "./start-servers.ts";
import { type BenchOptions, planFor } from "./throughput.ts";

const agents = 10_000;
const crashes = 3;

/** Looking at one of many agents, and coming back from kill -9 in the middle of their beats. */
export async function benchRestart(options: BenchOptions): Promise<Line[]> {
  const folder = makeDataFolder();
  try {
    let daemon = await startDaemon(folder);
    try {
      await enroll(daemon, agents);
      const lines = await lookAtAgents(daemon, options);
      let slowest = 0;
      for (let crash = 1; crash <= crashes; crash++) {
        const revived = await crashAndRevive(daemon, folder, crash, options.seconds);
        daemon = revived.daemon;
        options.say(`crash ${crash} of ${crashes}: ready again after ${(revived.seconds * 1000).toFixed(0)} ms`);
        slowest = Math.max(slowest, revived.seconds);
      }
      const measured = `kill -9 to ready, 10,000 agents at 2,000 beats/s, slowest of ${crashes}`;
      return [...lines, line(measured, "s", slowest, { aim: { of: "ours", atMost: 2 } })];
    } finally {
      await daemon.stop();
    }
  } finally {
    removeDataFolder(folder);
  }
}

async function lookAtAgents(daemon: Server, { seconds, say }: BenchOptions): Promise<Line[]> {
  const plan = planFor(daemon, { form: "look", connections: 8, beatsPerRequest: 1, agents }, 0, seconds);
  const { p50, p99, requests } = await loadFrom({ ...plan, expected: '"agentId":' });
  say(`GET one of 10,000 agents: ${requests} answers, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
  return [
    line("GET one of 10,000 agents, latency p50", "ms", p50),
    line("GET one of 10,000 agents, latency p99", "ms", p99, { aim: { of: "ours", atMost: 100 } }),
  ];
}

async function crashAndRevive(daemon: Server, folder: string, crash: number, seconds: number) {
  const plan = planFor(daemon, { form: "single", connections: 50, beatsPerRequest: 1, agents }, crash, 600);
  const load = startLoad({ ...plan, requestsPerSecond: 2000 });
  const loadEnded = load.result.then(
    () => "ended",
    (error: Error) => error.message,
  );
  // It has to be under load when it dies: a load that failed before would make this a restart in peace.
  const early = await Promise.race([loadEnded, sleep(Math.max(seconds, 5) * 1000)]);
  if (early !== undefined) throw new Error(`the load ended before the crash: ${early}`);
  const killedAt = performance.now();
  await daemon.kill();
  const revived = await startDaemon(folder);
  const elapsed = (performance.now() - killedAt) / 1000;
  await load.kill();
  await loadEnded;
  const { total_agents } = (await readJson(revived, "/api/health/status")) as { total_agents: number };
  if (total_agents !== agents)
    throw new Error(`${agents} agents were known before the crash, ${total_agents} after it`);
  return { daemon: revived, seconds: elapsed };
}
