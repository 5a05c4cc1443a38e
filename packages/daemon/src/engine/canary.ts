import { canaryId, type DurationMs, type HeartbeatAck, type MonoMs, toIso } from "@rouse/contract";
import type { FleetWatch } from "@rouse/core";
import type { Agents } from "../agents/host-agents.ts";
import type { Log } from "../ports/log.ts";
import type { Engine } from "./engine.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { SelfDoubt } from "./self-doubt.ts";
import type { Moment } from "./steady-clock.ts";
import type { RepeatingTimers } from "./timers.ts";
import type { SelfWatch } from "./watch-self.ts";

export const canaryEvery: DurationMs = 5000;
const canaryOnHold: DurationMs = 1000;

interface ProvingParts {
  readonly doubt: SelfDoubt;
  readonly self: SelfWatch;
  readonly fleet: FleetWatch;
  readonly engine: Engine;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly repeating: RepeatingTimers;
  readonly log: Log;
  readonly readClock: () => Moment;
  readonly markAlive: () => void;
}

/** The canary: a beat of our own that goes the way of all beats, to the disk. While it does not get through, silence is ours before it is anybody else's. */
export function keepCanary(parts: ProvingParts) {
  const { doubt, self, fleet, engine, agents, commits, readClock } = parts;
  let send: (() => Promise<void>) | null = null;

  return {
    sendCanaryBy(path: () => Promise<void>): void {
      send = path;
      doubt.canaryPassed(readClock().now);
    },

    /** Says how long to wait before the next. */
    async sendCanary(): Promise<DurationMs> {
      try {
        await send?.();
      } catch (error) {
        parts.log.warn({ error: String(error) }, "our own test beat did not get through");
        if (!parts.repeating.stopped()) self.doubtPath(readClock());
      }
      return fleet.holds().length > 0 || doubt.pathHold() !== null ? canaryOnHold : canaryEvery;
    },

    canaryIsMissing: (now: MonoMs): boolean => send !== null && doubt.canaryIsMissing(now),

    async takeCanary(): Promise<HeartbeatAck> {
      const receivedAt = toIso(readClock().time);
      parts.markAlive();
      await commits.saved();
      const moment = readClock();
      doubt.canaryPassed(moment.now);
      agents.takeNews(fleet.pathProven(moment.now), moment);
      engine.deliver(moment);
      return { agentId: canaryId, sequenceNumber: null, status: "accepted", receivedAt, commands: [] };
    },
  };
}

export type Canary = ReturnType<typeof keepCanary>;
