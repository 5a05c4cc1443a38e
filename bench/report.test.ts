import { describe, expect, it } from "vitest";
import { formatTable, line, percentile } from "./report.ts";

describe("a percentile", () => {
  it("is a value that was measured, whatever the order", () => {
    const values = [5, 1, 4, 2, 3];
    expect([0, 0.5, 0.99, 1].map((share) => percentile(values, share))).toEqual([1, 3, 5, 5]);
    expect(values).toEqual([5, 1, 4, 2, 3]);
  });
});

describe("the table of a bench", () => {
  it("shows ours beside the bare one, and names the aim that was not met", () => {
    const printed = formatTable([
      line("output", "MB/s", 50, { peer: 100, ratio: 0.5, aim: { of: "ratio", atLeast: 0.7 } }),
      line("exit known", "s", 0.4, { aim: { of: "ours", atMost: 2 } }),
    ]);
    expect(printed).toBe(
      [
        "measured         ours      bare  ratio          aim  met",
        "output      50.0 MB/s  100 MB/s   0.50  ratio ≥ 0.7   NO",
        "exit known     0.40 s                         ≤ 2 s  yes",
        "",
        "Not met: output.",
        "",
      ].join("\n"),
    );
  });

  it("claims no aim was met where there was none", () => {
    expect(formatTable([line("memory", "MB", 12)])).not.toContain("aim was met");
  });
});
