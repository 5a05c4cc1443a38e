import type { HolderReport, Sight } from "@rouse/contract";

export type Reports = ReturnType<typeof keepReports>;

/** Hours of an agent that shows something now and then, while no monitor runs. */
const mostKept = 2000;
/** The most sights in one report. */
const mostSights = 200;

/** Keeps reports until a monitor has saved them. */
export function keepReports(most = mostKept) {
  let kept: HolderReport[] = [];
  let lastSeq = 0;

  return {
    add(news: Omit<HolderReport, "seq">): HolderReport {
      lastSeq++;
      const report = { ...news, seq: lastSeq, sights: joinSights([], news.sights) };
      kept.push(report);
      if (kept.length > most) kept = mergeOne(kept);
      return report;
    },
    after: (seq: number): readonly HolderReport[] => kept.filter((report) => report.seq > seq),
    /** Reports up to and with `seq` are saved and dropped here. */
    heard(seq: number): void {
      kept = kept.filter((report) => report.seq > seq);
    },
    lastSeq: () => lastSeq,
  };
}

/**
 * Merges one report into the next: the oldest that tells nothing but output. Its number is missing then, but no sight.
 * Only when all reports tell more than that, the two oldest become one.
 */
function mergeOne(reports: readonly HolderReport[]): HolderReport[] {
  const dull = reports.findIndex((report, index) => index < reports.length - 1 && isDull(report));
  const at = Math.max(0, dull);
  const [older, newer] = [reports[at] as HolderReport, reports[at + 1] as HolderReport];
  const merged = { ...newer, exit: newer.exit ?? older.exit, sights: joinSights(older.sights, newer.sights) };
  return [...reports.slice(0, at), merged, ...reports.slice(at + 2)];
}

const isDull = ({ sights, exit }: HolderReport): boolean =>
  exit === null && sights.every(({ kind }) => kind === "output");

/** Joins all output into one sight. Of too many others the newest stay, and before all those that never come again. */
export function joinSights(older: readonly Sight[], newer: readonly Sight[]): Sight[] {
  const all = [...older, ...newer];
  let [rows, novel] = [0, 0];
  for (const sight of all) {
    if (sight.kind !== "output") continue;
    rows += sight.rows;
    novel += sight.novel;
  }
  const others = all.filter(({ kind }) => kind !== "output");
  const output: Sight[] = rows + novel > 0 ? [{ kind: "output", rows, novel }] : [];
  const room = mostSights - output.length;
  if (others.length <= room) return [...output, ...others];
  const kept = others.filter(isWeighty).slice(-room);
  const rest = others.filter((sight) => !isWeighty(sight));
  const chosen = new Set([...kept, ...rest.slice(rest.length - (room - kept.length))]);
  return [...output, ...others.filter((sight) => chosen.has(sight))];
}

/** Told once and never repeated. */
const weighty: ReadonlySet<Sight["kind"]> = new Set([
  "asks",
  "asks-no-more",
  "error",
  "completed",
  "rate-limited",
  "session",
  "nudge-read",
  "turn-ended",
] as const);
const isWeighty = ({ kind }: Sight): boolean => weighty.has(kind);
