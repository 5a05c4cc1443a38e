import type { DurationMs, MonoMs } from "../time.ts";

/** How much of one thing may be used: `most` at once, and as much again within `perMs`. Both are whole numbers. */
export interface Allowance {
  readonly most: number;
  readonly perMs: DurationMs;
}

export type Allow<D extends string = string> = Readonly<Record<D, Allowance>>;
export type Cost<D extends string = string> = Readonly<Partial<Record<D, number>>>;

/** A point in time to the fraction: whole milliseconds, and `part` `most`ths of the next one. */
interface Instant {
  readonly ms: MonoMs;
  readonly part: number;
}

/**
 * A token bucket in several dimensions, each kept as the instant at which it is full again. Whole numbers only, so that nothing drifts: in any stretch
 * of time, between any two instants, at most a full bucket and what flowed in meanwhile is let through.
 */
export type Bucket<D extends string = string> = Readonly<Record<D, Instant>>;

/** What is counted, such as `requests` and `tokens`. */
export const dimensionPattern = /^[A-Za-z][\w.-]{0,49}$/;
export const dimensionRule = "its name is 1 to 50 letters, digits or _ . -, beginning with a letter";
const isDimension = (name: string): boolean => dimensionPattern.test(name);

const longAgo: Instant = { ms: Number.MIN_SAFE_INTEGER, part: 0 };

export function fullBucket<D extends string>(allow: Allow<D>): Bucket<D> {
  return Object.fromEntries(namesOf(allow).map((name) => [name, longAgo])) as Bucket<D>;
}

/** What is wrong with an allowance, or `null`. */
export function findBadAllowance(allow: Allow): string | null {
  const names = namesOf(allow);
  if (names.length === 0) return "a rate limit allows at least one thing";
  for (const name of names) {
    if (!isDimension(name)) return `a rate limit cannot count ${JSON.stringify(name.slice(0, 60))}: ${dimensionRule}`;
    const { most, perMs } = allow[name] ?? {};
    if (!isWhole(most) || !isWhole(perMs) || most === 0 || perMs === 0)
      return `${name} of a rate limit: most and perMs are whole numbers above 0, not ${most} and ${perMs}`;
    if (!Number.isSafeInteger(most * perMs))
      return `${name} of a rate limit: most times perMs is at most ${Number.MAX_SAFE_INTEGER}; count in larger units`;
  }
  return null;
}

/** What is wrong with a cost, or `null`. */
export function findBadCost(cost: Cost, allow: Allow): string | null {
  for (const name of Object.keys(cost)) {
    const amount = cost[name];
    const allowance = Object.hasOwn(allow, name) ? allow[name] : undefined;
    if (allowance === undefined) return `this rate limit knows no ${name}`;
    if (!isWhole(amount)) return `${name}: a cost is a whole number from 0, not ${amount}`;
    if (amount > allowance.most) return `${name}: ${amount} are never let through at once, ${allowance.most} are`;
  }
  return null;
}

/** The first whole millisecond from which on there is enough in every dimension; it may have passed long ago. */
export function enoughFrom<D extends string>(bucket: Bucket<D>, cost: Cost<D>, allow: Allow<D>): MonoMs {
  let from = longAgo.ms;
  for (const name in cost) {
    const amount = cost[name] ?? 0;
    if (amount === 0) continue;
    const { ms, part } = later(bucket[name], amount, allow[name]);
    from = Math.max(from, ms + (part > 0 ? 1 : 0) - allow[name].perMs);
  }
  return from;
}

/** The bucket after so much was let through at `at`, a whole millisecond: not before it was, so that nothing flows in early. */
export function spend<D extends string>(bucket: Bucket<D>, cost: Cost<D>, allow: Allow<D>, at: MonoMs): Bucket<D> {
  const next: Record<string, Instant> = { ...bucket };
  for (const name in cost) {
    const amount = cost[name] ?? 0;
    if (amount === 0) continue;
    const fullAt = bucket[name];
    next[name] = later(fullAt.ms >= at ? fullAt : { ms: at, part: 0 }, amount, allow[name]);
  }
  return next as Bucket<D>;
}

/** What may be used at once, in whole numbers. */
export function leftIn<D extends string>(bucket: Bucket<D>, allow: Allow<D>, now: MonoMs): Readonly<Record<D, number>> {
  const left = namesOf(allow).map((name) => {
    const { most, perMs } = allow[name];
    const { ms, part } = bucket[name];
    if (ms < now) return [name, most];
    const share = (perMs - Math.min(perMs, ms - now)) * most - part;
    return [name, Math.max(0, quotient(share, perMs))];
  });
  return Object.fromEntries(left) as Record<D, number>;
}

/** That instant, and as long as it takes for so much to flow in. */
function later({ ms, part }: Instant, amount: number, { most, perMs }: Allowance): Instant {
  const whole = quotient(amount * perMs, most);
  const parts = part + ((amount * perMs) % most);
  return parts < most ? { ms: ms + whole, part: parts } : { ms: ms + whole + 1, part: parts - most };
}

/** Exact for whole numbers, where a rounded division followed by `floor` may be one too large. */
const quotient = (dividend: number, divisor: number): number => (dividend - (dividend % divisor)) / divisor;

const namesOf = <D extends string>(allow: Allow<D>): D[] => Object.keys(allow) as D[];

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
