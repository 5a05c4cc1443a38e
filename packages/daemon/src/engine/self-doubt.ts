import type { DurationMs, GapCause, MonoMs, SelfCheckPolicy } from "@rouse/contract";
import {
  type AgentRecord,
  type Brake,
  type Doubt,
  type FleetIncidents,
  type FleetWatch,
  type Gap,
  type Hold,
  lastGap,
} from "@rouse/core";

/** Enough, because every agent is judged far more often than this many gaps happen. */
const gapsKept = 64;
/** Lateness below this is ordinary. Above it, it counts as lag, which fades over a minute. */
const lateness: DurationMs = 50;
const lagFades: DurationMs = 60_000;
/** A canary passes every few seconds. Without one for this long our own path is in doubt. */
export const canaryMissing: DurationMs = 15_000;

export interface Frozen {
  readonly since: MonoMs;
  readonly actor: string;
  readonly as?: string;
  readonly reason: string;
}

/** Agents that name no node are taken to be on this machine. */
export const hostOf = ({ identity: { node } }: Pick<AgentRecord, "identity">): string => node ?? "here";

/**
 * What the monitor holds against itself: gaps, lag, a missing canary, the stops it has spent, and a person's freeze.
 */
export function doubtSelf(
  fleet: FleetWatch,
  incidents: Pick<FleetIncidents, "silentWith" | "diedWith" | "mayDieWithOthers">,
  brakeOf: (host: string, now: MonoMs) => Brake | null,
  started: MonoMs,
) {
  let gaps: readonly Gap[] = [];
  let lag = 0;
  let lagAt = started;
  let frozen: Frozen | null = null;
  let waitForThaw: (() => void)[] = [];
  let canaryPassedAt = started;
  let pathHold: Hold | null = null;
  let criticalBlocked: ReadonlyMap<string, string | null> = new Map();

  const currentLag = (now: MonoMs): DurationMs => Math.round(lag * Math.max(0, 1 - (now - lagAt) / lagFades));

  /** Counts only for the agent that had a blocked task last: the trouble of others is no graver for that. */
  function countBlocked({ agentId, task: { id: taskId } }: AgentRecord): number {
    for (const [blocked, last] of criticalBlocked)
      if (last === agentId && (taskId === null || taskId === blocked)) return criticalBlocked.size;
    return 0;
  }

  return {
    openGap(cause: GapCause, from: MonoMs, to: MonoMs): Gap {
      // Numbered by time, so that the numbers grow across restarts without being saved.
      const gap: Gap = { id: Math.max(to, (lastGap({ gaps })?.id ?? 0) + 1), cause, from, to };
      gaps = [...gaps.slice(1 - gapsKept), gap];
      // While we were blind our own beat could not pass either; that says nothing about the path.
      canaryPassedAt = Math.max(canaryPassedAt, to);
      return gap;
    },

    /** Our tick came this much later than it should have. */
    noteLateness(late: DurationMs, now: MonoMs, policy: SelfCheckPolicy): void {
      const capped = Math.min(late, policy.stall);
      if (capped < lateness || capped < currentLag(now)) return;
      lag = capped;
      lagAt = now;
    },

    /** Our canary did not get through: from now on the silence of agents may be our own deafness. */
    canaryFailed(now: MonoMs): void {
      pathHold = { because: "path-unproven", since: pathHold?.since ?? now, provenAt: null };
    },

    canaryPassed(now: MonoMs): void {
      canaryPassedAt = now;
      if (pathHold !== null && pathHold.provenAt === null) pathHold = { ...pathHold, provenAt: now };
    },

    /** A canary that neither passed nor failed for long is a failed one. */
    canaryIsMissing: (now: MonoMs): boolean => pathHold === null && now - canaryPassedAt > canaryMissing,

    /** Ends the hold once the path has been known to work for `releaseAfter`. True when the hold has just ended. */
    endPathHold(now: MonoMs, releaseAfter: DurationMs): boolean {
      if (pathHold === null || pathHold.provenAt === null || now < pathHold.provenAt + releaseAfter) return false;
      pathHold = null;
      return true;
    },

    /** The critical tasks that wait for a person, each with the agent that had it last. */
    noteCriticalBlocked(blocked: ReadonlyMap<string, string | null>): void {
      criticalBlocked = blocked;
    },

    freeze(by: Frozen | null): void {
      frozen = by;
      if (by !== null) return;
      const waiting = waitForThaw;
      waitForThaw = [];
      for (const goOn of waiting) goOn();
    },
    frozen: (): Frozen | null => frozen,
    /** Resolves when no freeze stands. */
    async thawed(): Promise<void> {
      while (frozen !== null) await new Promise<void>((resolve) => waitForThaw.push(resolve));
    },
    pathHold: (): Hold | null => pathHold,
    lag: currentLag,
    lastGap: (): Gap | null => lastGap({ gaps }),
    gaps: (): readonly Gap[] => gaps,

    about(record: AgentRecord, now: MonoMs): Doubt {
      const around = fleet.around(record.agentId, record.identity.node);
      return {
        gaps,
        lag: lag === 0 ? 0 : currentLag(now),
        hold: pathHold ?? around.hold,
        peers: around.peers,
        peersHeardAt: around.peersHeardAt,
        frozen: frozen !== null,
        // Only an agent with an incident could be stopped at all.
        brake: record.ladder.incident === null ? null : brakeOf(hostOf(record), now),
        silentWith: record.health.findings.length === 0 ? null : incidents.silentWith(record.agentId),
        diedWith: record.seen.terminal === null ? null : incidents.diedWith(record.agentId),
        mayDieWithOthers: record.seen.terminal !== null && incidents.mayDieWithOthers(now),
        criticalBlocked: countBlocked(record),
      };
    },
  };
}

export type SelfDoubt = ReturnType<typeof doubtSelf>;
