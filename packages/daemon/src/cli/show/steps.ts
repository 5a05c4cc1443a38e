import type { StepReport } from "@rouse/contract";
import { drawTable } from "./draw-table.ts";
import { wrapLine } from "./fit-text.ts";
import { type Line, styled } from "./styled-text.ts";

const explanation =
  "The same letter is the same again; A~ is A but for numbers, ids and times. Steps marked * are the evidence.";

/** The last steps side by side, when something in them repeats. */
export function showSteps(steps: readonly StepReport[], width: number): Line[] {
  if (!steps.some(({ evidence }) => evidence)) return [];
  const columns = [
    { title: "" },
    { title: "EVENT" },
    { title: "TOOL", least: 10 },
    { title: "ARGS" },
    { title: "RESULT" },
    { title: "FAILED" },
  ];
  const table = drawTable(columns, steps.map(row), width - 2);
  return [
    [],
    [styled("bold", "Steps")],
    ...table.map((line): Line => ["  ", ...line]),
    ...wrapLine(["  ", styled("dim", explanation)], width, 4),
  ];
}

const row = ({ event, tool, args, result, failed, evidence }: StepReport) => [
  evidence ? styled("red", "*") : "",
  String(event),
  tool ?? "(says)",
  args ?? (tool === null ? "" : "?"),
  result ?? "?",
  failed === null ? "?" : failed ? styled("red", "yes") : "no",
];
