import type { CircuitBreakerStatus, EpochMs } from "@rouse/contract";
import { drawList, type ListColumn, none } from "../text/draw-table.ts";
import { count } from "../text/phrases.ts";
import { type Line, type Style, styled } from "../text/styled-text.ts";
import { ago, inTime } from "../text/tell-time.ts";

const styles: Readonly<Record<CircuitBreakerStatus["state"], Style>> = {
  CLOSED: "green",
  HALF_OPEN: "yellow",
  OPEN: "red",
};

/** What is open comes first: every tool of every agent has a breaker, and nearly all are closed. */
const urgency: Readonly<Record<CircuitBreakerStatus["state"], number>> = { OPEN: 0, HALF_OPEN: 1, CLOSED: 2 };

/** Its agent; Rouse over what it sees of the agent's calls; Rouse over what it does itself. */
const keepers: Readonly<Record<CircuitBreakerStatus["source"], string>> = {
  agent: "itself",
  observed: "Rouse, watching",
  rouse: "Rouse, acting",
};

/** The name is what a reset takes, so everything but the state goes before it is cut. */
const columns = (now: EpochMs): readonly ListColumn<CircuitBreakerStatus>[] => [
  ["BREAKER", ({ name }) => name, { least: 12, wants: 60 }],
  ["STATE", ({ state }) => styled(styles[state], state)],
  ["SINCE", ({ since }) => ago(since, now), { drops: 4 }],
  ["FAILURES", ({ failures, state }) => (failures === 0 && state !== "CLOSED" ? none : String(failures)), { drops: 1 }],
  ["OPENED", ({ trips }) => `${trips}×`, { drops: 2 }],
  [
    "TRIED AGAIN",
    ({ retryAt, resetPending }) =>
      resetPending ? "reset, not heard yet" : retryAt === null ? none : inTime(retryAt, now),
    { drops: 5 },
  ],
  ["KEPT BY", ({ source }) => keepers[source], { drops: 3 }],
];

/** `hidden`: how many of agents that are over are left out. */
export function showBreakers(
  breakers: readonly CircuitBreakerStatus[],
  hidden: number,
  now: EpochMs,
  width: number,
): Line[] {
  const rest = hidden === 0 ? [] : [[styled("dim", `${count(hidden, "breaker")} of agents that are over: --all`)]];
  if (breakers.length === 0 && hidden > 0) return rest;
  if (breakers.length === 0)
    return [["No breakers are known. Agents report theirs with heartbeats; failing tools are seen in steps."]];
  const inOrder = [...breakers].sort((a, b) => urgency[a.state] - urgency[b.state]);
  return [...drawList(inOrder, columns(now), width), ...rest];
}
