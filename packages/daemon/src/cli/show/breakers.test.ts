import type { CircuitBreakerStatus } from "@rouse/contract";
import { expect, it } from "vitest";
import { paintLine } from "../text/styled-text.ts";
import { showBreakers } from "./breakers.ts";

const now = Date.parse("2026-11-18T12:00:00Z");
const open: CircuitBreakerStatus = {
  name: "worker-1/external_api/api.test",
  state: "HALF_OPEN",
  agentId: "worker-1",
  operation: "external_api/api.test",
  source: "agent",
  since: "2026-11-18T11:59:48Z",
  failures: 3,
  trips: 1,
  retryAt: "2026-11-18T12:00:48Z",
  resetPending: false,
  agentOver: false,
};
const own: CircuitBreakerStatus = {
  ...{ ...open, name: "worker-1/recovery_attempt", state: "OPEN", source: "rouse" },
  failures: 0,
  resetPending: true,
};
const drawn = (width: number): string[] =>
  showBreakers([open, own], 0, now, width).map((line) => paintLine(line, false));

it("says who keeps a breaker, and when something is let through again", () => {
  expect(drawn(120)).toEqual([
    "BREAKER                         STATE      SINCE     FAILURES  OPENED  TRIED AGAIN           KEPT BY",
    "worker-1/recovery_attempt       OPEN       12 s ago  –         1×      reset, not heard yet  Rouse, acting",
    "worker-1/external_api/api.test  HALF_OPEN  12 s ago  3         1×      in 48 s               itself",
  ]);
});

it("leaves out all but the state before it cuts a name, which a reset takes", () => {
  for (const width of [80, 60, 42]) {
    const lines = drawn(width);
    expect(lines[2]).toContain("worker-1/external_api/api.test  HALF_OPEN");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
  }
});

it("shows what is open before what is closed, else in the order it was given", () => {
  const named = (name: string, state: CircuitBreakerStatus["state"]) => ({ ...open, name, state });
  const given = [named("a", "CLOSED"), named("b", "OPEN"), named("c", "CLOSED"), named("d", "HALF_OPEN")];
  const names = showBreakers(given, 0, now, 120).map((line) => paintLine(line, false).split(" ")[0]);
  expect(names.slice(1)).toEqual(["b", "d", "a", "c"]);
});

it("says how many of agents that are over it leaves out", () => {
  const last = (shown: CircuitBreakerStatus[]) =>
    showBreakers(shown, 2, now, 120)
      .map((line) => paintLine(line, false))
      .at(-1);
  expect([last([open]), last([])]).toEqual(new Array(2).fill("2 breakers of agents that are over: --all"));
});
