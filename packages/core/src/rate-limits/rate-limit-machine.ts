import {
  type Allow,
  type Bucket,
  type Cost,
  type DurationMs,
  enoughFrom,
  fullBucket,
  hours,
  type MonoMs,
  spend,
} from "@rouse/contract";
import type { Machine } from "../machine.ts";

/** A rate limit that several processes share. */
export interface RateLimitRecord {
  readonly allow: Allow;
  readonly bucket: Bucket;
  /** When the last reservation falls due: nobody is let through before those who asked before. */
  readonly lastAt: MonoMs;
  /** Whose request began it. */
  readonly by: string;
}

export interface TakeSignal {
  readonly kind: "take";
  readonly cost: Cost;
  readonly allow: Allow;
  readonly by: string;
}

export type TakeReply =
  | { readonly kind: "reserved"; readonly waitMs: DurationMs }
  /** `for`: how long, when nobody takes anything meanwhile. */
  | { readonly kind: "refused"; readonly because: "other-allowance" | "queue-full"; readonly for: DurationMs };

/** Whoever would wait longer is refused: reservations of those who are gone would keep everybody else waiting. */
const longestWait: DurationMs = hours(1);

export const newRateLimit = (by: string): RateLimitRecord => ({ allow: {}, bucket: {}, lastAt: 0, by });

/** From when on nothing of what was let through counts any more, in any dimension. */
export const idleFrom = ({ allow, lastAt }: RateLimitRecord): MonoMs =>
  lastAt + Math.max(0, ...Object.values(allow).map(({ perMs }) => perMs));

/**
 * Reservations instead of a queue: each caller is told how long to wait, in the order they asked, and what it takes is gone from the moment it is
 * reserved for. A reservation that nobody uses is lost, never given out twice.
 */
export const rateLimitMachine: Machine<RateLimitRecord, TakeSignal, { readonly now: MonoMs }, TakeReply> = {
  name: "rate-limit",
  step(before, signal, { now }) {
    const { reply, record } = take(before, signal, now);
    return { record, reply, events: [], actions: [] };
  },
  /** It lies still until somebody takes from it. */
  wakeAt: () => null,
  restore: JSON.parse,
  serialise: JSON.stringify,
};

function take(before: RateLimitRecord, { cost, allow, by }: TakeSignal, now: MonoMs) {
  const isSame = isSameAllowance(before.allow, allow);
  if (!isSame && now < idleFrom(before)) return refuse(before, "other-allowance", idleFrom(before) - now);
  const limit = isSame ? before : { allow, bucket: fullBucket(allow), lastAt: now, by };
  const at = Math.max(now, limit.lastAt, enoughFrom(limit.bucket, cost, allow));
  if (at - now > longestWait) return refuse(before, "queue-full", at - now - longestWait);
  const reply: TakeReply = { kind: "reserved", waitMs: at - now };
  return { reply, record: { ...limit, bucket: spend(limit.bucket, cost, allow, at), lastAt: at } };
}

function refuse(
  record: RateLimitRecord,
  because: Extract<TakeReply, { kind: "refused" }>["because"],
  wait: DurationMs,
) {
  const reply: TakeReply = { kind: "refused", because, for: wait };
  return { reply, record };
}

function isSameAllowance(one: Allow, other: Allow): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => one[name]?.most === other[name]?.most && one[name]?.perMs === other[name]?.perMs)
  );
}
