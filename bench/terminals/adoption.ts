import { setTimeout as sleep } from "node:timers/promises";
import { cpuShareDuring, residentMegabytes } from "../measure-process.ts";
import { type Line, line, median } from "../report.ts";
import { makeDataFolder, removeDataFolder, type Server, startDaemon } from "../start-servers.ts";
import type { BenchOptions } from "../throughput.ts";
import { clientOf, followEvents } from "./follow-events.ts";
import { isAlive, type StartedAgent, startAgent } from "./start-agents.ts";

const agents = 20;
/** More would not start sooner on two cores. */
const atOnce = 4;
const crashes = 3;
const watchedMs = 10_000;

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
      const started = await startTalkers(home);
      const share = median(await sharesOf(started.map(({ holderPid }) => holderPid)));
      say(`${agents} agents talk; a holder takes ${(share * 100).toFixed(1)} % of a core`);
      let slowest = 0;
      let slowestFromDeath = 0;
      for (let crash = 1; crash <= crashes; crash++) {
        const back = await crashAndAdopt(daemon, home, started);
        daemon = back.daemon;
        slowest = Math.max(slowest, back.sinceReady);
        slowestFromDeath = Math.max(slowestFromDeath, back.readyAfter + back.sinceReady);
        say(
          `crash ${crash} of ${crashes}: ready after ${back.readyAfter.toFixed(2)} s, all adopted ${back.sinceReady.toFixed(2)} s later`,
        );
      }
      const measured = `${agents} agents at 50 lines/s`;
      return [
        line(`${measured}, CPU of one holder`, "% of a core", share * 100),
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

async function startTalkers(home: string): Promise<StartedAgent[]> {
  const started: StartedAgent[] = [];
  while (started.length < agents) {
    const names = Array.from({ length: atOnce }, (_, i) => `talker-${started.length + i + 1}`);
    started.push(...(await Promise.all(names.map((name) => startAgent(home, name, talker)))));
  }
  return started;
}

async function sharesOf(pids: readonly number[]): Promise<number[]> {
  const during = sleep(watchedMs);
  return (await Promise.all(pids.map((pid) => cpuShareDuring(pid, during)))).map(({ share }) => share);
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
    return { daemon: revived, readyAfter: (readyAt - killedAt) / 1000, sinceReady: (lastAt - readyAt) / 1000 };
  } finally {
    events.stop();
  }
}
