import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Memory, memoryOf } from "../measure-process.ts";
import { type Line, line, median } from "../report.ts";
import { startNode } from "../start-servers.ts";
import { type BenchOptions, withDaemon } from "../throughput.ts";
import { type StartedAgent, startAgent } from "./start-agents.ts";

const holders = 20;
const bareProcesses = 5;
const settledAfterMs = 10_000;
const quiet = ["sleep", "1000000"];

/** What it takes to have an agent held: time to start, and memory for as long as it lives. */
export async function benchHolders({ say }: BenchOptions): Promise<Line[]> {
  return withDaemon(async (_, home) => {
    const agents: StartedAgent[] = [];
    const bareStarts: number[] = [];
    for (let n = 1; n <= holders; n++) {
      agents.push(await startAgent(home, `quiet-${n}`, quiet));
      bareStarts.push(await timeBareStart());
    }
    say(`${holders} agents started, ${median(agents.map(({ spawnMs }) => spawnMs)).toFixed(0)} ms each`);
    const { ours, bare } = await weigh(agents.map(({ holderPid }) => holderPid));
    const start = (measured: string, of: (agent: StartedAgent) => number): Line =>
      line(measured, "ms", median(agents.map(of)), {
        peer: median(bareStarts),
        ratio: median(agents.map((agent, i) => of(agent) / (bareStarts[i] ?? 1))),
      });
    const memory = (measured: string, of: (one: Memory) => number): Line => {
      const [held, alone] = [median(ours.map(of)), median(bare.map(of))];
      return line(`one of ${holders} holders, ${measured}`, "MB", held, { peer: alone, ratio: held / alone });
    };
    return [
      start("rouse spawn, whole command", ({ spawnMs }) => spawnMs),
      start("a holder, from its start to its agent's", ({ holderMs }) => holderMs),
      memory("resident", ({ rss }) => rss),
      memory("share of shared pages (PSS)", ({ pss }) => pss),
      memory("its own", ({ own }) => own),
    ];
  });
}

async function timeBareStart(): Promise<number> {
  const begun = performance.now();
  await once(startNode(["-e", "0"], process.env), "exit");
  return performance.now() - begun;
}

/** All at the same time, because who else runs Node decides how many share its pages. */
async function weigh(pids: readonly number[]): Promise<{ ours: Memory[]; bare: Memory[] }> {
  const bare = Array.from({ length: bareProcesses }, () =>
    startNode(["-e", "setInterval(() => {}, 1e9)"], process.env),
  );
  try {
    await sleep(settledAfterMs);
    return { ours: pids.map(memoryOf), bare: bare.flatMap(({ pid }) => (pid === undefined ? [] : [memoryOf(pid)])) };
  } finally {
    for (const child of bare) child.kill("SIGKILL");
  }
}
