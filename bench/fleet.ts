import { cpuShareDuring, residentMegabytes, untilQuiet } from "./measure-process.ts";
import { type Line, line } from "./report.ts";
import { loadFrom, type Server } from "./start-servers.ts";
import { type BenchOptions, planFor, withDaemon } from "./throughput.ts";

/** What an idle agent of the preset `default` sends: a beat every five minutes. */
const secondsBetweenBeats = 300;
const shortestWindow = 20;

/** What it costs to watch this many agents that are all fine. */
export async function benchFleet(options: BenchOptions): Promise<Line[]> {
  const lines: Line[] = [];
  for (const agents of [100, 10_000, 100_000]) lines.push(...(await watchAgents(agents, options)));
  return lines;
}

async function watchAgents(agents: number, { seconds, say }: BenchOptions): Promise<Line[]> {
  const name = `${agents.toLocaleString("en")} agents`;
  return withDaemon(async (daemon) => {
    await enroll(daemon, agents);
    const settled = await untilQuiet(daemon.pid);
    say(`${name}: registered, quiet again after ${settled.toFixed(0)} s`);
    const { share } = await cpuShareDuring(
      daemon.pid,
      beatAtTheirRhythm(daemon, agents, Math.max(seconds, shortestWindow)),
    );
    const megabytes = residentMegabytes(daemon.pid);
    say(`${name}: ${(share * 100).toFixed(1)} % of one core, ${megabytes.toFixed(0)} MB`);
    const isLargest = agents === 100_000;
    return [
      line(`${name}, CPU`, "% of a core", share * 100, { aim: isLargest ? { of: "ours", atMost: 5 } : null }),
      line(`${name}, memory`, "MB", megabytes, { aim: isLargest ? { of: "ours", atMost: 600 } : null }),
    ];
  });
}

/** An agent announces itself with its first beat, so each beats once. */
export async function enroll(daemon: Server, agents: number): Promise<void> {
  const shape = { form: "array", connections: 1, beatsPerRequest: 100, agents } as const;
  const plan = planFor(daemon, shape, 0, 0);
  await loadFrom({ ...plan, status: "IDLE", warmupSeconds: 0, requests: agents / shape.beatsPerRequest });
}

function beatAtTheirRhythm(daemon: Server, agents: number, seconds: number) {
  const beatsPerRequest = Math.max(1, agents / 1000);
  const plan = planFor(daemon, { form: "array", connections: 4, beatsPerRequest, agents }, 1, seconds);
  const requestsPerSecond = agents / secondsBetweenBeats / beatsPerRequest;
  return loadFrom({ ...plan, status: "IDLE", warmupSeconds: 0, requestsPerSecond });
}
