import type { BeatForm } from "./beat-requests.ts";
import type { LoadPlan, LoadResult } from "./load.ts";
import { type Aim, type Line, line, median } from "./report.ts";
import { loadFrom, makeDataFolder, removeDataFolder, type Server, startDaemon, startEcho } from "./start-servers.ts";

export interface BenchOptions {
  /** How long one run is measured. */
  readonly seconds: number;
  say(progress: string): void;
  /** A table of its own, before the one of aims. */
  show(table: string): void;
}

const rounds = 3;
const warmupSeconds = 2;

/** Durable beats against a server that only echoes them: as fast as it goes, and at a steady pace. */
export async function benchThroughput(options: BenchOptions): Promise<Line[]> {
  return [
    ...(await compare(
      "single beats",
      { form: "single", connections: 192, beatsPerRequest: 1, agents: 960 },
      0.8,
      options,
    )),
    ...(await compare(
      "100 beats as an array",
      { form: "array", connections: 16, beatsPerRequest: 100, agents: 1600 },
      0.3,
      options,
    )),
    ...(await compare(
      "100 beats as lines",
      { form: "lines", connections: 16, beatsPerRequest: 100, agents: 1600 },
      0.3,
      options,
    )),
    ...(await pacedBeats(options)),
  ];
}

interface Shape {
  readonly form: BeatForm;
  readonly connections: number;
  readonly beatsPerRequest: number;
  readonly agents: number;
}

async function compare(name: string, shape: Shape, aim: number, options: BenchOptions): Promise<Line[]> {
  const ours: LoadResult[] = [];
  const peers: LoadResult[] = [];
  await withDaemon(async (daemon) => {
    const echo = await startEcho();
    try {
      for (let round = 0; round < rounds; round++) {
        ours.push(await loadFrom(planFor(daemon, shape, round, options.seconds)));
        options.say(`${name}, round ${round + 1} of ${rounds}, ours: ${describe(ours[round])}`);
        peers.push(await loadFrom(asEcho(planFor(echo, shape, round, options.seconds))));
        options.say(`${name}, round ${round + 1} of ${rounds}, bare echo: ${describe(peers[round])}`);
      }
    } finally {
      await echo.stop();
    }
  });
  const compared = (what: string, unit: string, of: (result: LoadResult) => number, wanted: Aim | null): Line =>
    line(`${name}, ${what}`, unit, median(ours.map(of)), {
      peer: median(peers.map(of)),
      ratio: median(ours.map((result, i) => of(result) / of(peers[i] ?? result))),
      aim: wanted,
    });
  return [
    compared("throughput", "beats/s", ({ beatsPerSecond }) => beatsPerSecond, { of: "ratio", atLeast: aim }),
    compared("latency p50", "ms", ({ p50 }) => p50, null),
    compared("latency p99", "ms", ({ p99 }) => p99, null),
  ];
}

async function pacedBeats({ seconds, say }: BenchOptions): Promise<Line[]> {
  const shape: Shape = { form: "single", connections: 40, beatsPerRequest: 1, agents: 200 };
  return withDaemon(async (daemon) => {
    const result = await loadFrom({ ...planFor(daemon, shape, 0, seconds), requestsPerSecond: 1000 });
    say(`1,000 beats/s from 200 agents: ${describe(result)}`);
    return [
      line("1,000 beats/s from 200 agents, latency p50", "ms", result.p50),
      line("1,000 beats/s from 200 agents, latency p99", "ms", result.p99, { aim: { of: "ours", atMost: 50 } }),
    ];
  });
}

export async function withDaemon<T>(use: (daemon: Server, folder: string) => Promise<T>): Promise<T> {
  const folder = makeDataFolder();
  try {
    const daemon = await startDaemon(folder);
    try {
      return await use(daemon, folder);
    } finally {
      await daemon.stop();
    }
  } finally {
    removeDataFolder(folder);
  }
}

/** Later rounds beat for the same agents, so their numbers go on above any that an earlier round can have reached. */
export function planFor(server: Server, shape: Shape, round: number, seconds: number): LoadPlan {
  const { port, token } = server;
  return {
    ...shape,
    port,
    token,
    prefix: "bench",
    status: "RUNNING",
    firstSequence: round * 10_000_000,
    expected: '"status":"accepted"',
    warmupSeconds,
    seconds,
    requests: null,
    requestsPerSecond: null,
  };
}

/** The echo sends back what it got. */
const asEcho = (plan: LoadPlan): LoadPlan => ({ ...plan, expected: '"status":"RUNNING"' });

function describe(result: LoadResult | undefined): string {
  if (result === undefined) return "nothing";
  const { beatsPerSecond, p50, p99 } = result;
  return `${Math.round(beatsPerSecond).toLocaleString("en")} beats/s, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
}
