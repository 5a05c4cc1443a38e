import { setTimeout as sleep } from "node:timers/promises";
import { rouse } from "@rouse/sdk";
import { type Line, line, median } from "../report.ts";
import { startNode, thisProgram } from "../start-servers.ts";
import { type BenchOptions, withDaemon } from "../throughput.ts";

/** An agent, a timer that posts as much with nothing but `fetch`, and the same process without either. */
const kinds = ["agent", "fetch", "nothing"] as const;

interface BeatPlan {
  readonly what: (typeof kinds)[number];
  readonly url: string;
  readonly token: string;
  readonly warmupSeconds: number;
  readonly seconds: number;
}

const rounds = 2;
/** What Node compiles and collects in its first seconds is no cost of a beat. */
const warmupSeconds = 20;

/** What an agent's heartbeats take of a core at one beat a second: a process with them, less the same one without. */
export async function benchHeartbeat({ seconds, say }: BenchOptions): Promise<Line[]> {
  const measured = seconds * 12;
  say(`heartbeats: ${rounds} processes of each kind, for ${warmupSeconds + measured} s`);
  return withDaemon(async ({ port, token }) => {
    const run = (what: BeatPlan["what"]) =>
      measure({ what, url: `http://127.0.0.1:${port}`, token, warmupSeconds, seconds: measured });
    const all = await Promise.all(Array.from({ length: rounds }, () => Promise.all(kinds.map(run))));
    const share = (milliseconds: number): number => (100 * milliseconds) / (measured * 1000);
    const [agent, bare] = [0, 1].map((kind) => median(all.map((one) => share((one[kind] ?? 0) - (one[2] ?? 0)))));
    if (agent === undefined || bare === undefined) throw new Error("two kinds are measured");
    return [
      line("heartbeats, one a second, beside a bare fetch of the same", "% of a core", agent, {
        ...{ peer: bare, ratio: agent / bare, aim: { of: "ours", atMost: 0.1 } },
      }),
    ];
  });
}

async function measure(plan: BeatPlan): Promise<number> {
  const child = startNode([thisProgram(), "beats", JSON.stringify(plan)], process.env);
  let printed = "";
  for await (const chunk of child.stdout ?? []) printed += String(chunk);
  const cpu = Number(printed);
  if (printed === "" || Number.isNaN(cpu)) throw new Error(`a process that beats ended without a result: ${printed}`);
  return cpu;
}

/** Runs in a process of its own. Prints the milliseconds of processor time that it took. */
export async function beat({ what, url, token, warmupSeconds, seconds }: BeatPlan): Promise<void> {
  const agentId = `beating-${process.pid}`;
  const agent =
    what === "agent" ? rouse.agent({ id: agentId, type: "bench", url, token, beatEveryMs: 1000, env: {} }) : null;
  const post = what === "fetch" ? setInterval(() => void postBeat(agentId, url, token), 1000) : undefined;
  await sleep(warmupSeconds * 1000);
  const before = process.cpuUsage();
  await sleep(seconds * 1000);
  const { user, system } = process.cpuUsage(before);
  if (agent !== null && agent.connection().state !== "connected")
    throw new Error(`the agent is ${agent.connection().state}: ${agent.connection().problem}`);
  process.stdout.write(String((user + system) / 1000));
  clearInterval(post);
  await agent?.close();
}

async function postBeat(agentId: string, url: string, token: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/heartbeats`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ agentId, status: "RUNNING" }),
  });
  await response.text();
}
