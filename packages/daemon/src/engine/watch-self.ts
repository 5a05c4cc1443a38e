import type { DurationMs, Fault, GapCause, MonoMs } from "@rouse/contract";
import type { FleetIncidents, FleetWatch } from "@rouse/core";
import { noAgent } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Log } from "../ports/log.ts";
import type { Engine } from "./engine.ts";
import type { SelfDoubt } from "./self-doubt.ts";
import type { Moment, SteadyClock } from "./steady-clock.ts";

/** How often the monitor checks itself and judges who is due. */
export const tickEvery: DurationMs = 250;

interface SelfParts {
  readonly clock: SteadyClock;
  readonly doubt: SelfDoubt;
  readonly fleet: FleetWatch;
  readonly incidents: Pick<FleetIncidents, "forgive">;
  readonly log: Log;
  readonly config: () => Config;
  readonly engine: () => Pick<Engine, "saveEvents">;
  /** Asks every holder for a fresh look at its agent: a sight from before a gap says little about now. */
  readonly lookAnew: () => void;
}

/** The monitor watches itself: every gap in its own sight is recorded and answered with an amnesty. */
export function watchSelf(parts: SelfParts, startedAt: MonoMs) {
  const { clock, doubt, fleet, log, config } = parts;
  let nextTickAt = startedAt + tickEvery;
  let outageSince: MonoMs | null = null;

  function noteGap(cause: GapCause, from: MonoMs, moment: Moment, detail: string): void {
    const gap = doubt.openGap(cause, from, moment.now);
    parts.incidents.forgive(gap, doubt.gaps());
    const lastedSeconds = Math.round((gap.to - gap.from) / 100) / 10;
    parts.engine().saveEvents([{ type: "MONITOR_GAP", payload: { cause, lastedSeconds, detail } }], moment.time, null);
    parts.lookAnew();
    log.warn(
      { cause, lastedSeconds },
      "the monitor was blind for a while, so nobody is judged by silence until all had time to be heard",
    );
  }

  function inspect(): Moment {
    const { moment, before, faults } = clock.inspect(config().selfCheck.stall);
    for (const { cause, lasted } of faults) {
      const from = cause === "clock-step" ? moment.now : before;
      noteGap(cause, from, moment, `${(lasted / 1000).toFixed(1)} s`);
    }
    return moment;
  }

  return {
    noteGap,

    /** Compares the clocks and notes how late we are ourselves. */
    tick(): void {
      const { now } = inspect();
      doubt.noteLateness(now - nextTickAt, now, config().selfCheck);
      nextTickAt = now + tickEvery;
    },

    /** Our canary did not get through. Until one does, an agent's silence is taken for our own deafness. */
    doubtPath(moment: Moment): void {
      const isNew = doubt.pathHold() === null;
      doubt.canaryFailed(moment.now);
      if (!isNew) return;
      const payload = { because: "path-unproven", scope: "fleet", silent: 0, of: fleet.size() } as const;
      parts.engine().saveEvents([{ type: "VERDICTS_HELD_BACK", payload }], moment.time, null);
    },

    /** True when the doubt about our path has just ended, one TTL after a canary got through. */
    trustPathAgain(moment: Moment): boolean {
      const policy = config().policyFor(noAgent);
      const ttl = 3 * Math.max(policy.beatInterval, policy.idleBeatInterval);
      const since = doubt.pathHold()?.since ?? moment.now;
      if (!doubt.endPathHold(moment.now, ttl + policy.amnestyMargin)) return false;
      const lastedSeconds = Math.round((moment.now - since) / 1000);
      const payload = { because: "path-unproven", scope: "fleet", lastedSeconds } as const;
      parts.engine().saveEvents([{ type: "VERDICTS_RESUMED", payload }], moment.time, null);
      return true;
    },

    storeWentDown(fault: Fault): void {
      outageSince ??= clock.read().now;
      const what = fault.code === "epoch-lost" ? "this monitor was replaced" : "the store cannot be written";
      log.error({ code: fault.code }, `${what}, so nobody is judged and beats are refused: ${fault.message}`);
    },

    storeDownSince: (): MonoMs | null => outageSince,

    storeCameBack(): void {
      const moment = clock.read();
      noteGap("store-outage", outageSince ?? moment.now, moment, "the store could not be written");
      outageSince = null;
    },
  };
}

export type SelfWatch = ReturnType<typeof watchSelf>;
