import { generateKeyPairSync, sign } from "node:crypto";
import { Fault, type PresetName } from "@rouse/contract";
import { type Config, readConfig, requireConfig } from "../../packages/daemon/src/config/read-config.ts";
import type { SigningKey } from "../../packages/daemon/src/home/signing-key.ts";
import type { Monitor } from "../../packages/daemon/src/monitor.ts";
import type { Clock, Timers } from "../../packages/daemon/src/ports/clock.ts";
import type { Commit, Store } from "../../packages/daemon/src/ports/store.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

/** Says something to the monitor in its own turn. `failed`: it was not there, died meanwhile, or refused. */
export type Speak = (say: (to: Monitor) => Promise<unknown>, failed?: (error: unknown) => void) => void;

/** What the world can do to the monitor. */
export interface MonitorWorld {
  /** It does not run until then. */
  stalledUntil: number;
  /** What its monotonic clock did not count, and since when it does not count now. */
  suspended: number;
  suspendedSince: number | null;
  wallOffset: number;
  /** The furthest that its wall clock was ever ahead, and behind. */
  furthestAhead: number;
  furthestBehind: number;
  deaf: boolean;
  /** Its timers come late by up to this much. */
  load: number;
  readonly store: { outage: boolean; crashAfterCommit: (() => void) | null };
  /** The end of the last fault that was the monitor's own. */
  faultUntil: number;
  readonly faults: { readonly from: number; readonly to: number }[];
  /** Those of them in which it was not running, stood still, or could not save. */
  readonly blind: { readonly from: number; readonly to: number }[];
  crash(downFor: number): void;
}

/** What every clock shows at the beginning. */
export const wallAtStart = Date.UTC(2026, 0, 5);

/** The clocks of the machine that the monitor runs on: one does not count a suspend, one can be set. */
export function clockOf(timeline: Timeline, world: MonitorWorld): Clock {
  const mono = (): number => (world.suspendedSince ?? timeline.now()) - world.suspended;
  const wall = (): number => wallAtStart + timeline.now() + world.wallOffset;
  return { mono, wall, read: () => ({ mono: mono(), boot: timeline.now(), wall: wall() }) };
}

interface Parts {
  readonly timeline: Timeline;
  readonly world: MonitorWorld;
  readonly random: Random;
  readonly isDead: () => boolean;
  readonly soon: (callback: () => void) => void;
}

/** Timers of one life of the monitor: late under load, held up by a stall, gone with it. */
export function timersOf({ timeline, world, random, isDead, soon }: Parts): Timers {
  const run = (callback: () => void): void => {
    if (isDead()) return;
    if (timeline.now() < world.stalledUntil) return timeline.plan(world.stalledUntil, () => run(callback));
    callback();
  };
  return {
    after(delay, callback) {
      let cancelled = false;
      const late = world.load === 0 ? 0 : random.between(0, world.load);
      timeline.after(delay + late, () => {
        if (!cancelled) run(callback);
      });
      return () => {
        cancelled = true;
      };
    },
    soon(callback) {
      if (!isDead()) soon(callback);
    },
  };
}

/** A store that can be made to fail, and to take its monitor down right after a commit and before anybody hears of it. */
export function makeFaulty(store: Store, fault: { outage: boolean; crashAfterCommit: (() => void) | null }): Store {
  return {
    ...store,
    async commit(commit: Commit): Promise<void> {
      if (fault.outage) throw new Fault("store-unavailable", "simulated outage", { retryable: true });
      await store.commit(commit);
      const crash = fault.crashAfterCommit;
      if (crash === null) return;
      fault.crashAfterCommit = null;
      crash();
      await new Promise<never>(() => undefined);
    },
  };
}

/** Policies that let less be done, for agents that are started with them. */
const policies =
  "policies:\n  assisted: { mode: assist }\n  watched: { mode: observe }\n  guarded: { protected: true }\n";

export const configFor = (preset: PresetName): Config =>
  requireConfig(
    readConfig({ file: { name: "sim", text: `preset: ${preset}\n${preset === "default" ? policies : ""}` } }),
  );

/** A real one: what is signed in a simulation can be checked after it. */
export function makeSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64"),
    publicKey: publicKey.export({ type: "spki", format: "pem" }) as string,
  };
}
