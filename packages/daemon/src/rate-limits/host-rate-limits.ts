import { describeDuration, Fault, type Reservation, type TakeRequest } from "@rouse/contract";
import { idleFrom, newRateLimit, type RateLimitRecord, rateLimitMachine, type TakeReply } from "@rouse/core";
import { hostMachine } from "../engine/host-machine.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { KeptMachine } from "../ports/store.ts";
import type { SharedServices } from "../shared-services.ts";

type Parts = Pick<SharedServices, "engine" | "commits">;

const mostLimits = 1000;
/** An agent that makes up names must not use up those of others. */
const mostOfOne = 100;

/** Rate limits that several processes share: each is told how long to wait, and what it takes is saved before it is told. */
export function hostRateLimits({ engine, commits }: Parts) {
  const limits = new Map<string, RateLimitRecord["by"]>();
  const room = hostMachine({
    ...{ engine, commits, machine: rateLimitMachine },
    begin: (name) => newRateLimit(limits.get(name) ?? ""),
    agentOf: () => null,
    contextOf: (now) => ({ now }),
  });

  function admit(name: string, by: string, moment: Moment): void {
    if (limits.has(name)) return;
    if (isFull(by)) forgetIdle(moment);
    // Not to be tried again at once: others may keep their limits for a month, and nobody waits for them that long.
    if (isFull(by))
      throw new Fault(
        "rate-limit-refused",
        `there are too many rate limits (${mostOfOne} begun by one, ${mostLimits} in all); those that nobody uses go by themselves`,
      );
    limits.set(name, by);
  }

  const isFull = (by: string): boolean =>
    limits.size >= mostLimits || [...limits.values()].filter((other) => other === by).length >= mostOfOne;

  /** One that nobody has used for its whole period is as good as new. */
  function forgetIdle({ now }: Moment): void {
    for (const name of limits.keys()) {
      const record = room.find(name);
      if (record !== null && idleFrom(record) > now) continue;
      room.forget(name);
      limits.delete(name);
    }
  }

  return {
    async take(name: string, { cost, allow }: TakeRequest, by: string): Promise<Reservation> {
      const moment = engine.begin();
      admit(name, by, moment);
      const reply = room.submit(name, { kind: "take", cost, allow, by }, moment);
      if (reply.kind === "refused") throw refusal(name, reply);
      await commits.saved();
      return { waitMs: reply.waitMs };
    },
    restore(machines: readonly KeptMachine[]): void {
      room.restore(machines);
      for (const { machine, id } of machines)
        if (machine === rateLimitMachine.name) limits.set(id, room.find(id)?.by ?? "");
    },
  };
}

function refusal(name: string, { because, for: wait }: Extract<TakeReply, { kind: "refused" }>): Fault {
  const after = describeDuration(Math.ceil(wait / 1000) * 1000);
  switch (because) {
    case "other-allowance":
      return new Fault(
        "rate-limit-refused",
        `others take from ${name} by another allowance; agree on one, or use no ${name} for ${after} to begin anew`,
      );
    case "queue-full":
      return new Fault("rate-limit-refused", `the queue for ${name} is longer than an hour; ask again in ${after}`, {
        retryable: true,
      });
  }
}

export type RateLimits = ReturnType<typeof hostRateLimits>;
