import { expect, it } from "vitest";
import { replayedText } from "./claude-messages.ts";

const line = (changes: object) =>
  JSON.stringify({ type: "user", message: { role: "user", content: "go on" }, isReplay: true, ...changes });

it("what was put to the program is told by the line that repeats it", () => {
  expect(replayedText(line({}))).toBe("go on");
  expect(replayedText(line({ message: { content: [{ type: "text", text: "go on" }] } }))).toBe("go on");
});

it.each([
  ["a line that is no repetition", line({ isReplay: false })],
  ["one that merely speaks of it", line({ isReplay: undefined, note: '"isReplay"' })],
  ["another kind of line", line({ type: "assistant" })],
  ["a result of a tool", line({ message: { content: [{ type: "tool_result", content: "go on" }] } })],
  ["something broken", '{"isReplay":true'],
  ["nothing at all", line({ message: null })],
  ["more than anybody says", line({ message: { content: "x".repeat(100_000) } })],
])("but not by %s", (_, text) => {
  expect(replayedText(text)).toBeNull();
});
