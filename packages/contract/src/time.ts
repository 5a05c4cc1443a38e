/**
 * Numbers with a unit in their type. The brands are optional, so a plain number (a literal, the result of arithmetic)
 * fits anywhere, but an instant of one timeline is never passed where another timeline's is meant.
 */
declare const unit: unique symbol;

/** Milliseconds of wall-clock time since 1970. For people to read; it may jump, so nothing is judged by it. */
export type EpochMs = number & { readonly [unit]?: "epoch" };

/**
 * Milliseconds on the monitor's own steady timeline. Never jumps, goes on across restarts; all judging is done on it.
 */
export type MonoMs = number & { readonly [unit]?: "mono" };

/** A length of time in milliseconds. */
export type DurationMs = number & { readonly [unit]?: "duration" };

/** Milliseconds during which an agent was meant to get somewhere: stands still while it idles, waits or starts. */
export type WorkMs = number & { readonly [unit]?: "work" };

export const seconds = (n: number): DurationMs => n * 1000;
export const minutes = (n: number): DurationMs => n * 60_000;
export const hours = (n: number): DurationMs => n * 3_600_000;
export const days = (n: number): DurationMs => n * 86_400_000;

export const toIso = (at: EpochMs): string => new Date(at).toISOString();

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads "90s", "15m", "1h", "7d" or "500ms"; a bare number is seconds. Anything else is `null`. */
export function parseDuration(text: string): DurationMs | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim());
  if (!match) return null;
  const factor = durationUnits[(match[2] ?? "s") as keyof typeof durationUnits];
  return Number(match[1]) * factor;
}

/** "42 s", "17 min", "3 h", "2 d": one unit, rounded down, for people. */
export function describeDuration(duration: DurationMs): string {
  const s = Math.max(0, Math.floor(duration / 1000));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 172_800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}
