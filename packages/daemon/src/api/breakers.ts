import { BreakerList, BreakerSettings, CircuitBreakerStatus, FreezeRequest } from "@rouse/contract";
import type { Breakers } from "../breakers/host-breakers.ts";
import { givenBy } from "../orders/note-orders.ts";
import { cursor, get, limit, oneOf, owner, post, type Route, readers, readersAnd, text } from "./route.ts";

/** Circuit breakers of agents: which there are, and closing one by hand. */
export function breakerRoutes(breakers: Breakers): Route[] {
  return [
    get("/api/v1/breakers", {
      who: readers,
      id: "listBreakers",
      about: "Circuit breakers, by agent and operation",
      request: {
        query: {
          state: oneOf("only those in this state", ["CLOSED", "OPEN", "HALF_OPEN"]),
          agentId: text("only of this agent"),
          limit: limit(100, 1000),
          cursor,
        },
      },
      answer: { 200: BreakerList },
      run({ query: { state, agentId, limit, cursor = 0 } }) {
        const all = agentId === undefined ? breakers.list() : breakers.of(agentId);
        const wanted = all
          .filter((one) => state === undefined || one.state === state)
          .slice(cursor, cursor + limit + 1);
        const next = wanted.length > limit ? String(cursor + limit) : null;
        return { breakers: wanted.slice(0, limit), next };
      },
    }),
    get("/api/v1/breakers/{id}", {
      who: readers,
      id: "getBreaker",
      about: "One circuit breaker, by its name (AGENT/OPERATION, its slashes encoded)",
      answer: { 200: CircuitBreakerStatus },
      faults: ["breaker-unknown"],
      run: ({ id }) => breakers.get(id),
    }),
    get("/api/v1/agents/{id}/breaker-rules", {
      who: readersAnd("itself"),
      id: "getBreakerRules",
      about: "By which rules its breakers run, its own ones included, unless its author wrote others",
      answer: { 200: BreakerSettings },
      faults: ["agent-unknown"],
      run: ({ id }) => breakers.settingsOf(id),
    }),
    post("/api/v1/breakers/{id}/reset", {
      who: owner,
      id: "resetBreaker",
      about: "Closes a circuit breaker by hand; its agent is told with its next acknowledgement",
      request: { body: FreezeRequest },
      answer: { 200: CircuitBreakerStatus },
      faults: ["breaker-unknown"],
      run: ({ id, body, principal }) => breakers.reset(id, givenBy(principal, body)),
    }),
  ];
}
