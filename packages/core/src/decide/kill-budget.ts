import type { KillBudget, MonoMs, RouseEvent } from "@rouse/contract";
import type { Brake } from "../doubt.ts";

/** One agent that was stopped by our own decision. */
export interface Kill {
  readonly at: MonoMs;
  readonly host: string;
  /** When its host's bucket will be full again. Without it, a host that was busy for longer than is remembered would look rested. */
  readonly fullAt: MonoMs;
}

/**
 * How many agents we may stop: per host one now and then with a small burst, in the whole fleet so many in a window, then the brake. True sliding
 * windows: expire first, then count. It keeps state but reads no clock.
 */
export function keepKillBudget(policy: () => KillBudget, before: readonly Kill[] = []) {
  let kills: readonly Kill[] = before;
  let braked: MonoMs | null = null;

  /** The bucket of a host, filled one by one. */
  const fullAt = (host: string): MonoMs =>
    kills.findLast((kill) => kill.host === host)?.fullAt ?? Number.NEGATIVE_INFINITY;

  /** When there will be a token in it. */
  function hostReadyAt(host: string, now: MonoMs): MonoMs {
    const { hostInterval, hostBurst } = policy();
    return Math.max(now, fullAt(host) - (hostBurst - 1) * hostInterval);
  }

  function fleetReadyAt(now: MonoMs): MonoMs {
    const { fleetKills, fleetWindow } = policy();
    const recent = kills.filter(({ at }) => at > now - fleetWindow);
    const oldest = recent[recent.length - fleetKills];
    return oldest === undefined ? now : oldest.at + fleetWindow;
  }

  return {
    /** Why nobody of this host may be stopped now. */
    brake(host: string, now: MonoMs): Brake | null {
      const fleet = fleetReadyAt(now);
      if (fleet > now) return { because: "fleet-budget", until: fleet };
      const own = hostReadyAt(host, now);
      return own > now ? { because: "host-budget", until: own } : null;
    },
    spend(host: string, now: MonoMs): void {
      const { hostInterval, fleetWindow } = policy();
      const kill = { at: now, host, fullAt: Math.max(now, fullAt(host)) + hostInterval };
      kills = [...kills.filter((one) => one.at > now - fleetWindow || one.fullAt > now), kill];
    },
    /** The brake is an event of its own, when it takes hold and when it lets go. */
    news(now: MonoMs): readonly RouseEvent[] {
      const { fleetKills, fleetWindow } = policy();
      const full = fleetReadyAt(now) > now;
      if (full && braked === null) {
        braked = now;
        return [{ type: "BRAKE_STARTED", payload: { kills: fleetKills, windowSeconds: fleetWindow / 1000 } }];
      }
      if (full || braked === null) return [];
      const lastedSeconds = Math.round((now - braked) / 1000);
      braked = null;
      return [{ type: "BRAKE_ENDED", payload: { lastedSeconds } }];
    },
    /** To be saved with whatever it was spent on. */
    kills: (): readonly Kill[] => kills,
  };
}

export type KillBudgetKeeper = ReturnType<typeof keepKillBudget>;
