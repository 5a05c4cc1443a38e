import { Fault, idRule, isId, Reservation, TakeRequest } from "@rouse/contract";
import type { RateLimits } from "../rate-limits/host-rate-limits.ts";
import { ownerAnd, post, type Route } from "./route.ts";

/** Rate limits that several processes share. */
export function rateLimitRoutes({ take }: RateLimits): Route[] {
  return [
    post("/api/v1/rate-limits/{id}/take", {
      who: ownerAnd("any"),
      id: "takeFromRateLimit",
      about: "Reserves a place in the queue of a shared rate limit: how long to wait, first come, first served",
      request: { body: TakeRequest },
      answer: { 200: Reservation },
      faults: ["rate-limit-refused"],
      run({ id, body, principal }) {
        if (!isId(id)) throw new Fault("bad-request", `the name of a rate limit ${idRule}`);
        return take(id, body, principal);
      },
    }),
  ];
}
