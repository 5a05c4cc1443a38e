import type { CircuitBreakerStatus, EpochMs } from "@rouse/contract";
import { byUser } from "../../caller.ts";
import { connect } from "../../find-daemon.ts";
import { drawList, type ListColumn, none } from "../../text/draw-table.ts";
import { type Line, type Style, styled } from "../../text/styled-text.ts";
import { ago, inTime } from "../../text/tell-time.ts";
import { type AddCommand, type Json, jsonOption, reasonOption, tell } from "../add-command.ts";

const styles: Readonly<Record<CircuitBreakerStatus["state"], Style>> = {
  CLOSED: "green",
  HALF_OPEN: "yellow",
  OPEN: "red",
};

/** Its agent; Rouse over what it sees of the agent's calls; Rouse over what it does itself. */
const keepers: Readonly<Record<CircuitBreakerStatus["source"], string>> = {
  agent: "itself",
  observed: "Rouse, watching",
  rouse: "Rouse, acting",
};

const columns = (now: EpochMs): readonly ListColumn<CircuitBreakerStatus>[] => [
  ["BREAKER", ({ name }) => name, { least: 12 }],
  ["STATE", ({ state }) => styled(styles[state], state)],
  ["SINCE", ({ since }) => ago(since, now)],
  ["FAILURES", ({ failures }) => String(failures)],
  ["OPENED", ({ trips }) => `${trips}×`],
  [
    "TRIED AGAIN",
    ({ retryAt, resetPending }) =>
      resetPending ? "reset, not heard yet" : retryAt === null ? none : inTime(retryAt, now),
  ],
  ["KEPT BY", ({ source }) => keepers[source]],
];

function showBreakers(breakers: readonly CircuitBreakerStatus[], now: EpochMs, width: number): Line[] {
  if (breakers.length === 0)
    return [["No breakers are known. Agents report theirs with heartbeats; failing tools are seen in steps."]];
  return drawList(breakers, columns(now), width);
}

export const addBreakers: AddCommand = (program, here) => {
  const breakers = program
    .command("breakers")
    .description("circuit breakers of agents: what fails too often to be called")
    .option("--agent <agent>", "only of this agent")
    .option(...jsonOption)
    .action(async (options: Json & { agent?: string }) => {
      const all = await (await connect(here)).getAllCircuitBreakers();
      const wanted = all.filter(({ agentId }) => options.agent === undefined || agentId === options.agent);
      tell(here, options, wanted, () => showBreakers(wanted, here.now(), here.width));
    });
  breakers
    .command("reset <name>")
    .description("close a breaker by hand; its agent is told with its next heartbeat")
    .option(...reasonOption)
    .option(...jsonOption)
    .action(async (name: string, options: Json & { reason?: string }) => {
      const rouse = await connect(here);
      await rouse.resetCircuitBreaker(name, byUser(options));
      const now = await rouse.getCircuitBreakerStatus(name);
      const told = now.resetPending ? "; its agent is told with its next heartbeat" : "";
      tell(here, options, now, () => [[styled("bold", `${name} is ${now.state}`), told]]);
    });
};
