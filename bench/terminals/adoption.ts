import { residentMegabytes } from "../measure-process.ts";
import { type Line, line } from "../report.ts";
import { makeDataFolder, removeDataFolder, type Server, startDaemon } from "../start-servers.ts";
import type { BenchOptions } from "../throughput.ts";
import { clientOf, followEvents } from "./follow-events.ts";
import { isAlive, type StartedAgent, startAgent } from "./start-agents.ts";

const agents = 20;
const crashes = 3;

/** Fifty lines a second, none like another. */
const talker = [
  process.execPath,
  "-e",
  'let n = 0; setInterval(() => console.log("step " + ++n + " of the work is done, and " + n * n + " came of it"), 20)',
];

/** From the death of the daemon until it has all its agents back, while they talk. */
export async function benchAdoption({ say }: BenchOptions): Promise<Line[]> {
  const home = makeDataFolder();
  try {
    let daemon = await startDaemon(home);
    try {
      const started: StartedAgent[] = [];
      for (let n = 1; n <= agents; n++) started.push(await startAgent(home, `talker-${n}`, talker));
      say(`${agents} agents talk`);
      let slowest = 0;
      let slowestFromDeath = 0;
      for (let crash = 1; crash <= crashes; crash++) {
        const back = await crashAndAdopt(daemon, home, started);
        daemon = back.daemon;
        slowest = Math.max(slowest, back.sinceReady);
        slowestFromDeath = Math.max(slowestFromDeath, back.sinceDeath);
        say(`crash ${crash} of ${crashes}: all adopted ${back.sinceReady.toFixed(2)} s after ready`);
      }
      const measured = `${agents} agents at 50 lines/s`;
      return [
        line(`${measured}, daemon ready to last adopted, slowest of ${crashes}`, "s", slowest, {
          aim: { of: "ours", atMost: 5 },
        }),
        line(`${measured}, kill -9 to last adopted, slowest of ${crashes}`, "s", slowestFromDeath),
        line(`${measured}, memory of the daemon`, "MB", residentMegabytes(daemon.pid)),
      ];
    } finally {
      await daemon.stop();
    }
  } finally {
    removeDataFolder(home);
  }
}

async function crashAndAdopt(daemon: Server, home: string, started: readonly StartedAgent[]) {
  const newest = (await clientOf(daemon).events({ limit: 1 })).at(-1)?.id ?? 0;
  const killedAt = performance.now();
  await daemon.kill();
  const revived = await startDaemon(home);
  const readyAt = performance.now();
  const events = followEvents(revived, ["AGENT_HELD"], newest);
  try {
    const adoptions = started.map(({ name }) =>
      events.until(
        `the adoption of ${name}`,
        ({ type, payload }) => type === "AGENT_HELD" && payload.adopted && payload.agentId === name,
      ),
    );
    const lastAt = Math.max(...(await Promise.all(adoptions)));
    const dead = started.filter(({ agentPid }) => !isAlive(agentPid));
    if (dead.length > 0) throw new Error(`${dead.map(({ name }) => name).join(", ")} died with the daemon`);
    return { daemon: revived, sinceReady: (lastAt - readyAt) / 1000, sinceDeath: (lastAt - killedAt) / 1000 };
  } finally {
    events.stop();
  }
}
