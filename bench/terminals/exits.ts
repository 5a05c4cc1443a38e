import { type Line, line, percentile } from "../report.ts";
import { type BenchOptions, withDaemon } from "../throughput.ts";
import { clientOf, type EventWatch, followEvents } from "./follow-events.ts";
import { isAlive, type StartedAgent, startAgent } from "./start-agents.ts";

const agents = 20;
const holders = 5;
const quiet = ["sleep", "1000000"];

/** How soon whoever listens to the daemon hears that an agent is over. */
export async function benchExits({ say }: BenchOptions): Promise<Line[]> {
  return withDaemon(async (daemon, home) => {
    // What died here stays dead: starting it again would compete with the next measurement.
    await clientOf(daemon).freeze({ reason: "measuring" });
    const events = followEvents(daemon, ["PROCESS_EXITED"], 0);
    try {
      const agentKilled = await repeat(agents, "agent", (name) => startAgent(home, name, quiet), events, "agentPid");
      say(`agent killed, known after: ${describe(agentKilled)}`);
      const holderKilled = await repeat(holders, "held", (name) => startAgent(home, name, quiet), events, "holderPid");
      say(`holder killed, end of its agent known after: ${describe(holderKilled)}`);
      return [
        line(`agent killed, known after, p50 of ${agents}`, "s", percentile(agentKilled, 0.5)),
        line("agent killed, known after, slowest", "s", percentile(agentKilled, 1), aim(2)),
        line(
          `holder killed, end of its agent known after, slowest of ${holders}`,
          "s",
          percentile(holderKilled, 1),
          aim(20),
        ),
      ];
    } finally {
      events.stop();
    }
  });
}

async function repeat(
  times: number,
  prefix: string,
  start: (name: string) => Promise<StartedAgent>,
  events: EventWatch,
  victim: "agentPid" | "holderPid",
): Promise<number[]> {
  const seconds: number[] = [];
  for (let n = 1; n <= times; n++) {
    const agent = await start(`${prefix}-${n}`);
    const killedAt = performance.now();
    process.kill(agent[victim], "SIGKILL");
    const knownAt = await events.until(
      `the end of ${agent.name}`,
      ({ payload }) => "agentId" in payload && payload.agentId === agent.name,
    );
    if (isAlive(agent.agentPid)) throw new Error(`${agent.name} is said to be over, but it runs`);
    seconds.push((knownAt - killedAt) / 1000);
  }
  return seconds;
}

const aim = (atMost: number) => ({ aim: { of: "ours", atMost } }) as const;

const describe = (seconds: readonly number[]): string =>
  `p50 ${percentile(seconds, 0.5).toFixed(2)} s, slowest ${percentile(seconds, 1).toFixed(2)} s`;
