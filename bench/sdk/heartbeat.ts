import { loadavg } from "node:os";
import { resolve } from "node:path";
import { type Line, line, median } from "../report.ts";
import { startNode } from "../start-servers.ts";
import { type BenchOptions, withDaemon } from "../throughput.ts";

/**
 * An agent, a timer that posts as much with nothing but `node:http` on one connection, one with nothing but `fetch`,
 * and the same process without any.
 */
const kinds = ["agent", "http", "fetch", "nothing"] as const;
type Kind = (typeof kinds)[number];

interface BeatPlan {
  readonly what: Kind;
  readonly url: string;
  readonly token: string;
  readonly warmupSeconds: number;
  readonly seconds: number;
}

/** Small, as it is published: this program takes 0.1 to 0.2 % of a core while it does nothing. */
const program = resolve("bench/sdk/beat.mjs");
const rounds = 3;
/** What Node compiles and collects in its first seconds is no cost of a beat. */
const warmupSeconds = 20;
const leastSeconds = 30;

/** What an agent's heartbeats take of a core at one beat a second: a process with them, less the same one without. */
export async function benchHeartbeat({ seconds, say }: BenchOptions): Promise<Line[]> {
  const measured = Math.max(leastSeconds, seconds * 12);
  say(`heartbeats: ${rounds} processes of each kind, for ${warmupSeconds + measured} s`);
  return withDaemon(async ({ port, token }) => {
    const run = (what: Kind) =>
      measure({ what, url: `http://127.0.0.1:${port}`, token, warmupSeconds, seconds: measured });
    const all = await Promise.all(kinds.map((kind) => Promise.all(Array.from({ length: rounds }, () => run(kind)))));
    say(`heartbeats: the load of the machine was ${loadavg()[0]?.toFixed(1)}`);
    const [agent = 0, http = 0, fetch = 0, nothing = 0] = all.map((one) => (100 * median(one)) / (measured * 1000));
    const ours = agent - nothing;
    const beside = (bare: number) => ({ peer: bare - nothing, ratio: ours / (bare - nothing) });
    return [
      line("heartbeats, one a second, beside a bare node:http of the same", "% of a core", ours, {
        ...beside(http),
        aim: { of: "ours", atMost: 0.1 },
      }),
      line("heartbeats, one a second, beside a bare fetch of the same", "% of a core", ours, beside(fetch)),
    ];
  });
}

async function measure(plan: BeatPlan): Promise<number> {
  const child = startNode([program, JSON.stringify(plan)], process.env);
  let printed = "";
  for await (const chunk of child.stdout ?? []) printed += String(chunk);
  const cpu = Number(printed);
  if (printed === "" || Number.isNaN(cpu)) throw new Error(`a process that beats ended without a result: ${printed}`);
  return cpu;
}
