import type { HolderReport, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { joinSights, keepReports } from "./keep-reports.ts";

const news = (sights: Sight[] = [], changes: Partial<HolderReport> = {}) => ({
  at: 0,
  sights,
  output: { bytes: 0, rows: 0, lastAt: null },
  process: null,
  attached: 0,
  fullScreen: false,
  outputKept: true,
  exit: null,
  ...changes,
});
const asks: Sight = { kind: "asks", what: "permission", pattern: "p" };
const output = (rows: number): Sight => ({ kind: "output", rows, novel: 1 });

describe("reports", () => {
  it("are numbered from one and kept until they are heard", () => {
    const reports = keepReports();
    for (let i = 0; i < 3; i++) reports.add(news());
    expect(reports.after(0).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(reports.after(2).map(({ seq }) => seq)).toEqual([3]);
    reports.heard(2);
    expect(reports.after(0).map(({ seq }) => seq)).toEqual([3]);
    expect(reports.lastSeq()).toBe(3);
  });

  it("become fewer when nobody hears them, but nothing that was seen is lost", () => {
    const reports = keepReports(5);
    reports.add(news([asks]));
    for (let i = 0; i < 100; i++) reports.add(news([output(1)]));
    reports.add(news([{ kind: "error", pattern: "e", digest: "d", text: "t" }]));
    for (let i = 0; i < 100; i++) reports.add(news([output(1)]));
    reports.add(news([], { exit: { code: 0, signal: null, cause: "by-itself" } }));
    const kept = reports.after(0);
    const sights = kept.flatMap((report) => report.sights);
    expect(kept).toHaveLength(5);
    expect(kept[0]).toMatchObject({ seq: 1, sights: [asks] });
    expect(sights.filter(({ kind }) => kind === "error")).toHaveLength(1);
    expect(sights.reduce((sum, sight) => sum + (sight.kind === "output" ? sight.rows : 0), 0)).toBe(200);
    expect(kept.at(-1)).toMatchObject({ seq: 203, exit: { code: 0 } });
  });

  it("never hold more than a report may, and give up asks and errors last", () => {
    const many: Sight[] = Array.from({ length: 500 }, (_, i) => ({ kind: "file-touched", digest: String(i) }));
    const joined = joinSights([asks, output(2)], [...many, output(3)]);
    expect(joined).toHaveLength(200);
    expect(joined.slice(0, 2)).toEqual([{ kind: "output", rows: 5, novel: 2 }, asks]);
    expect(joined.at(-1)).toEqual({ kind: "file-touched", digest: "499" });
  });

  it("keep what is said only once, however much is seen beside it", () => {
    const many: Sight[] = Array.from({ length: 500 }, (_, i) => ({ kind: "file-touched", digest: String(i) }));
    const once: Sight[] = [
      { kind: "session", id: "s", model: null, version: null },
      { kind: "nudge-read", nudge: "n" },
      { kind: "turn-ended", outcome: "success", reason: "end" },
    ];
    expect(joinSights(once, many).slice(0, 3)).toEqual(once);
  });
});
