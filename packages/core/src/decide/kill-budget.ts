import type { KillBudget, MonoMs, RouseEvent } from "@rouse/contract";
import type { Brake } from "../doubt.ts";
import type { Machine } from "../machine.ts";

/** An agent that we stopped by our own decision. */
interface Kill {
  readonly at: MonoMs;
  readonly host: string;
  /**
   * When the host's bucket is full again. Without it, a host that was busy for longer than the window would look
   * rested.
   */
  readonly fullAt: MonoMs;
}

/** Whom we stopped lately, and since when the brake holds. */
interface KillBudgetRecord {
  readonly kills: readonly Kill[];
  readonly brakedSince: MonoMs | null;
  readonly wakeAt: MonoMs | null;
}

export const noKills: KillBudgetRecord = { kills: [], brakedSince: null, wakeAt: null };

export type KillSignal = { readonly kind: "spent"; readonly host: string } | { readonly kind: "wake" };

/** Why no agent of this host may be stopped now. */
export function brakeOf({ kills }: KillBudgetRecord, host: string, now: MonoMs, policy: KillBudget): Brake | null {
  const fleet = fleetReadyAt(kills, now, policy);
  if (fleet > now) return { because: "fleet-budget", until: fleet };
  const own = hostReadyAt(kills, host, now, policy);
  return own > now ? { because: "host-budget", until: own } : null;
}

/**
 * How many agents we may stop: per host one now and then with a small burst, in the fleet so many in a window, then the
 * brake. Sliding windows expire first, then count. The brake's start and end are events.
 */
export const killBudgetMachine: Machine<
  KillBudgetRecord,
  KillSignal,
  { readonly now: MonoMs; readonly policy: KillBudget },
  null
> = {
  name: "kill-budget",
  step(before, signal, { now, policy }) {
    const kills = signal.kind === "spent" ? spend(before.kills, signal.host, now, policy) : before.kills;
    const readyAt = fleetReadyAt(kills, now, policy);
    const isFull = readyAt > now;
    const brakedSince = isFull ? (before.brakedSince ?? now) : null;
    const wakeAt = isFull ? readyAt : null;
    return {
      record: { kills, brakedSince, wakeAt },
      reply: null,
      events: news(before, brakedSince, now, policy),
      actions: [],
    };
  },
  wakeAt: ({ wakeAt }) => wakeAt,
  restore(saved) {
    const record = JSON.parse(saved) as KillBudgetRecord | readonly Kill[];
    // An earlier version saved the kills alone.
    return "kills" in record ? record : { ...noKills, kills: record };
  },
  serialise: JSON.stringify,
};

function spend(kills: readonly Kill[], host: string, now: MonoMs, { hostInterval, fleetWindow }: KillBudget): Kill[] {
  const kill = { at: now, host, fullAt: Math.max(now, fullAt(kills, host)) + hostInterval };
  return [...kills.filter((one) => one.at > now - fleetWindow || one.fullAt > now), kill];
}

function news(
  { brakedSince: before }: KillBudgetRecord,
  after: MonoMs | null,
  now: MonoMs,
  { fleetKills, fleetWindow }: KillBudget,
): readonly RouseEvent[] {
  if (before === null && after !== null)
    return [{ type: "BRAKE_STARTED", payload: { kills: fleetKills, windowSeconds: fleetWindow / 1000 } }];
  if (before === null || after !== null) return [];
  return [{ type: "BRAKE_ENDED", payload: { lastedSeconds: Math.round((now - before) / 1000) } }];
}

/** When the host's bucket is full. */
const fullAt = (kills: readonly Kill[], host: string): MonoMs =>
  kills.findLast((kill) => kill.host === host)?.fullAt ?? Number.NEGATIVE_INFINITY;

/** When the host's bucket has a token. */
const hostReadyAt = (kills: readonly Kill[], host: string, now: MonoMs, policy: KillBudget): MonoMs =>
  Math.max(now, fullAt(kills, host) - (policy.hostBurst - 1) * policy.hostInterval);

function fleetReadyAt(kills: readonly Kill[], now: MonoMs, { fleetKills, fleetWindow }: KillBudget): MonoMs {
  const recent = kills.filter(({ at }) => at > now - fleetWindow);
  const oldest = recent[recent.length - fleetKills];
  return oldest === undefined ? now : oldest.at + fleetWindow;
}
