export interface Delays {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export function summarise(values: readonly number[]): Delays {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number =>
    tenths(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), max: at(1) };
}

/** 0 when there are no values. */
export const mean = (values: readonly number[]): number =>
  tenths(values.reduce((sum, one) => sum + one, 0) / Math.max(1, values.length));

const tenths = (value: number): number => Math.round(value * 10) / 10;
