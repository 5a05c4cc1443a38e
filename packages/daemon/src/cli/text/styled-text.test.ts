import { describe, expect, it } from "vitest";
import { drawTable } from "./draw-table.ts";
import { cutText, type Line, paintLine, styled, widthOf, wrapLine } from "./styled-text.ts";

const plain = (lines: readonly Line[]): string[] => lines.map((line) => paintLine(line, false));

describe("text in a terminal", () => {
  it("is measured in columns, not in characters", () => {
    expect(["worker", "", "日本", "é", "👩‍💻", "naïve"].map(widthOf)).toEqual([6, 0, 4, 1, 2, 5]);
  });

  it("ends in … where it does not fit", () => {
    expect(cutText("worker-1", 8)).toBe("worker-1");
    expect(cutText("worker-10", 8)).toBe("worker-…");
    expect(cutText("日本語", 5)).toBe("日本…");
    expect(cutText("日本語", 4)).toBe("日…");
  });

  it("is broken between words and goes on indented", () => {
    const line: Line = [styled("bold", "why"), "  nothing was heard for 14 s"];
    expect(plain(wrapLine(line, 16, 5))).toEqual(["why  nothing was", "     heard for", "     14 s"]);
  });

  it("is broken anywhere when one word is longer than the line", () => {
    const lines = plain(wrapLine(["id ", "x".repeat(25)], 12, 2));
    expect(lines.join("").replaceAll(" ", "")).toBe(`id${"x".repeat(25)}`);
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(12);
  });

  it("stays on one line where no terminal limits it", () => {
    expect(plain(wrapLine(["a ".repeat(300)], Number.POSITIVE_INFINITY, 2))).toHaveLength(1);
  });
});

describe("a table", () => {
  const columns = [{ title: "AGENT", least: 6 }, { title: "STATE" }, { title: "TASK", least: 4 }];
  const rows = [
    ["worker-1", "HEALTHY", "a-long-task-name"],
    ["worker-200", styled("red", "STUCK"), "b"],
  ];

  it("is as wide as its contents", () => {
    expect(plain(drawTable(columns, rows, 80))).toEqual([
      "AGENT       STATE    TASK",
      "worker-1    HEALTHY  a-long-task-name",
      "worker-200  STUCK    b",
    ]);
  });

  it("cuts its widest columns first and never wraps", () => {
    expect(plain(drawTable(columns, rows, 30))).toEqual([
      "AGENT       STATE    TASK",
      "worker-1    HEALTHY  a-long-t…",
      "worker-200  STUCK    b",
    ]);
    for (const width of [5, 12, 20, 25, 30, 36]) {
      for (const line of plain(drawTable(columns, rows, width))) expect(widthOf(line)).toBeLessThanOrEqual(width);
    }
  });
});
