import { canaryId, type DurationMs, type HeartbeatAck, type MonoMs, toIso } from "@rouse/contract";
import type { MonitorServices } from "../shared-services.ts";

export const canaryEvery: DurationMs = 5000;
const canaryOnHold: DurationMs = 1000;

type CanaryParts = Pick<
  MonitorServices,
  "doubt" | "self" | "fleet" | "engine" | "agents" | "commits" | "repeating" | "log" | "readClock" | "markAlive"
>;

/**
 * The canary is a beat of our own that goes the way of all beats, to the disk. While it does not get through, the
 * silence of agents is taken for our own deafness.
 */
export function keepCanary(parts: CanaryParts) {
  const { doubt, self, fleet, engine, agents, commits, readClock } = parts;
  let send: (() => Promise<void>) | null = null;

  return {
    sendCanaryBy(path: () => Promise<void>): void {
      send = path;
      doubt.canaryPassed(readClock().now);
    },

    /** Returns how long to wait before the next canary. */
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
