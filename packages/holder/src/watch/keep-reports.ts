import type { HolderReport, Sight } from "@rouse/contract";

/** Reports until somebody has heard them. */
export interface Reports {
  add(report: Omit<HolderReport, "seq">): HolderReport;
  after(seq: number): readonly HolderReport[];
  /** Heard up to and with `seq`: no need to keep them. */
  heard(seq: number): void;
  lastSeq(): number;
}

/** Hours of an agent that says something now and then, while no monitor is there to hear it. */
const mostKept = 2000;
/** What a report may hold. */
const mostSights = 200;

export function keepReports(most = mostKept): Reports {
  let kept: HolderReport[] = [];
  let lastSeq = 0;

  return {
    add(news) {
      lastSeq++;
      const report = { ...news, seq: lastSeq, sights: joinSights([], news.sights) };
      kept.push(report);
      if (kept.length > most) kept = mergeOne(kept);
      return report;
    },
    after: (seq) => kept.filter((report) => report.seq > seq),
    heard(seq) {
      kept = kept.filter((report) => report.seq > seq);
    },
    lastSeq: () => lastSeq,
  };
}

/**
 * One report fewer: the oldest whose loss nobody would notice goes up into the next. Numbers are missing then, but nothing that was seen;
 * only when all of them tell something do two of those become one.
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

/** All output as one. Of too many others the newest stay, and what is said once before the rest. */
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

/** Said once, and nobody says it again. */
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
