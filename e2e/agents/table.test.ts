import { expect, it } from "vitest";
import { type Line, markdownTable, replaceBetweenMarkers, textTable } from "./table.ts";

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

it("keeps what a program wrote inside its cell", () => {
  const table = markdownTable([{ ...line, verdict: "a | b\n<script>" }]);
  expect(table.split("\n")).toHaveLength(3);
  expect(table).toContain("a \\| b \\<script\\>");
});

it("replaces what stands between the markers and nothing else", () => {
  const page = "before\n<!-- table:begin -->\nold\n<!-- table:end -->\nafter\n";
  const written = replaceBetweenMarkers(page, "new");
  expect(written).toBe("before\n<!-- table:begin -->\n\nnew\n\n<!-- table:end -->\nafter\n");
  expect(replaceBetweenMarkers(written, "new")).toBe(written);
  expect(() => replaceBetweenMarkers("before", "new")).toThrow("has no");
});
