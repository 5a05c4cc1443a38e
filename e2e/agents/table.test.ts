import { expect, it } from "vitest";
import { type Line, textTable, writeLines } from "./table.ts";

const line: Line = {
  program: "Codex",
  mode: "run",
  scenario: "loop",
  said: "STUCK",
  eye: "session-file",
  seconds: "3.1",
  verdict: "holds",
};

it("prints columns that stand below each other", () => {
  const [head = "", row = ""] = textTable([line]).split("\n");
  expect(row.indexOf("session-file")).toBe(head.indexOf("eye"));
});

const page = "before\n<!-- table:begin -->\n<!-- table:end -->\nafter\n";
const other: Line = { ...line, program: "Claude Code", mode: "spawn" };
const all = [other, line];

it("keeps what a program wrote inside its cell", () => {
  const written = writeLines(page, [{ ...line, verdict: "a | b\n<script>" }], [], all);
  expect(written).toContain("| a \\| b \\<script\\> |\n");
});

it("writes between the markers and nowhere else, and the same again when nothing changed", () => {
  const written = writeLines(page, all, ["Codex 1.2.3, played today"], all);
  expect(written.startsWith("before\n<!-- table:begin -->\n\n- Codex 1.2.3, played today\n\n| program |")).toBe(true);
  expect(written.endsWith("| holds |\n\n<!-- table:end -->\nafter\n")).toBe(true);
  expect(writeLines(written, all, ["Codex 1.2.3, played today"], all)).toBe(written);
  expect(() => writeLines("before", all, [], all)).toThrow("has no");
});

it("leaves what was not played this time, in its place, and drops what is no longer asked", () => {
  const first = writeLines(page, all, ["Claude Code 2.0.0, played once", "Codex 1.2.3, played once"], all);
  const second = writeLines(first, [{ ...line, said: "HEALTHY" }], ["Codex 1.2.4, played now"], all);
  expect(second).toContain("- Claude Code 2.0.0, played once\n- Codex 1.2.4, played now\n");
  expect(second).not.toContain("1.2.3");
  expect(second.indexOf("| Claude Code | spawn | loop | STUCK")).toBeLessThan(
    second.indexOf("| Codex | run | loop | HEALTHY"),
  );
  expect(writeLines(second, [], [], [line])).not.toContain("| Claude Code |");
});
