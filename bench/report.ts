import { cpus, totalmem } from "node:os";

export interface Aim {
  readonly of: "ours" | "ratio";
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** One line of the table. `peer` is the same thing done by something that does nothing else, where there is one. */
export interface Line {
  readonly measured: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer: number | null;
  /** Ours as a multiple of the peer's: the median of runs done in turn. */
  readonly ratio: number | null;
  readonly aim: Aim | null;
  readonly met: boolean | null;
}

export function line(
  measured: string,
  unit: string,
  ours: number,
  { peer = null, ratio = null, aim = null }: { peer?: number | null; ratio?: number | null; aim?: Aim | null } = {},
): Line {
  return { measured, unit, ours, peer, ratio, aim, met: aim === null ? null : isMet(aim, ours, ratio) };
}

function isMet({ of, atLeast, atMost }: Aim, ours: number, ratio: number | null): boolean {
  const value = of === "ours" ? ours : ratio;
  if (value === null) throw new Error("an aim for the ratio needs a peer");
  return value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY);
}

export const machine = () => ({
  cores: cpus().length,
  processor: cpus()[0]?.model ?? "unknown",
  memoryGigabytes: Math.round(totalmem() / 1024 ** 3),
  node: process.versions.node,
  platform: process.platform,
});

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** The value that this share of all values does not exceed; the largest for 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function formatTable(lines: readonly Line[]): string {
  const rows = [
    ["measured", "ours", "bare", "ratio", "aim", "met"],
    ...lines.map((one) => [
      one.measured,
      `${formatNumber(one.ours)} ${one.unit}`,
      one.peer === null ? "" : `${formatNumber(one.peer)} ${one.unit}`,
      one.ratio === null ? "" : one.ratio.toFixed(2),
      one.aim === null ? "" : formatAim(one.aim, one.unit),
      one.met === null ? "" : one.met ? "yes" : "NO",
    ]),
  ];
  const printed = alignRows(rows);
  if (lines.every(({ aim }) => aim === null)) return `${printed.join("\n")}\n`;
  const missed = lines.filter(({ met }) => met === false);
  const verdict =
    missed.length === 0 ? "Every aim was met." : `Not met: ${missed.map(({ measured }) => measured).join("; ")}.`;
  return `${[...printed, "", verdict].join("\n")}\n`;
}

/** The first column to the left, the others to the right. */
export function alignRows(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

function formatAim({ of, atLeast, atMost }: Aim, unit: string): string {
  const bound = atLeast !== undefined ? `≥ ${atLeast}` : `≤ ${atMost}`;
  return of === "ratio" ? `ratio ${bound}` : `${bound} ${unit}`;
}

function formatNumber(value: number): string {
  const places = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
}
