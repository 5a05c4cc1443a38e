import { describe, expect, it } from "vitest";
import { readRecordedEvent } from "./read-recorded-event.ts";

const read = (line: unknown) => readRecordedEvent(JSON.stringify(line));
const flawOf = (line: unknown) =>
  read(line)
    .flaws.map(({ kind, message }) => `${kind}: ${message}`)
    .join("\n");

describe("a line of a recording", () => {
  it("is an event of a run; what we do not know in it is no flaw", () => {
    const line = { trace: "a", kind: "tool_call", tool: "Bash", args_digest: "d1", at: 3, colour: "red" };
    expect(read(line)).toEqual({
      trace: "a",
      event: { kind: "tool_call", tool: "Bash", args_digest: "d1", at: 3 },
      flaws: [],
    });
  });

  it.each([
    ["{", "not-json: is not JSON: {"],
    ["[1]", "not-an-object: expected a JSON object, found [1]"],
    ["null", "not-an-object: expected a JSON object, found null"],
    ['{"kind":"message"}', "no-trace: no trace"],
    ['{"trace":7,"kind":"message"}', "no-trace: trace: expected a text of up to 1000 characters, found 7"],
    ['{"trace":"","kind":"message"}', "no-trace"],
    ['{"trace":"a"}', "no-kind: no kind: expected tool_call, tool_result, message, error"],
    ['{"trace":"a","kind":"dance"}', 'unknown-kind: kind: found "dance", expected tool_call'],
    ['{"trace":"a","kind":"progress","label":"stuck"}', "label-line: is a label"],
  ])("%s belongs to no run, and it says why", (text, expected) => {
    const reading = readRecordedEvent(text);
    expect(reading.event).toBeNull();
    expect(`${reading.flaws[0]?.kind}: ${reading.flaws[0]?.message}`).toContain(expected);
  });

  it("is kept when a field has the wrong type: that field was then not recorded", () => {
    const line = {
      trace: "a",
      kind: "tool_result",
      tool: "x".repeat(201),
      failed: "yes",
      tokens: -1,
      at: "now",
      text: 5,
    };
    expect(read(line).event).toEqual({ kind: "tool_result" });
    const flaws = flawOf(line);
    for (const part of [
      'failed: found "yes", expected true, false or null; taken as not recorded',
      "tokens: found -1, expected a number from 0 or null",
      'at: found "now", expected a number or null',
      "text: found 5, expected a text or null",
      "expected a text of up to 200 characters or null",
    ])
      expect(flaws).toContain(part);
  });

  it("tells nothing that would act on a terminal, and no more than a glance", () => {
    const flaw = flawOf({ trace: "a", kind: `\u009b31m\u202e${"x".repeat(500)}` });
    expect(flaw).not.toMatch(/[\u0080-\u009f\u202e]/);
    expect(flaw.length).toBeLessThan(200);
    expect(readRecordedEvent(`\u001b[2J${"x".repeat(500)}`).flaws[0]?.message.length).toBeLessThan(100);
  });
});

describe("a text without a digest", () => {
  const digestsOf = (line: object) => read({ trace: "a", kind: "tool_call", tool: "Bash", ...line }).event;

  it("stands for itself when it is whole, so that loops in recordings made by hand are found", () => {
    const first = digestsOf({ args: "ls" });
    expect(first?.args_digest).toEqual(expect.any(String));
    expect(digestsOf({ args: "ls" })).toEqual(first);
    expect(digestsOf({ args: "pwd" })?.args_digest).not.toBe(first?.args_digest);
  });

  it("is unknown when the digest was left out on purpose or the text is only an excerpt", () => {
    expect(digestsOf({ args: "ls", args_digest: null })?.args_digest).toBeNull();
    expect(digestsOf({ args: "x".repeat(300) })?.args_digest ?? null).toBeNull();
    expect(digestsOf({ args: "ls", args_digest: "d1" })?.args_digest).toBe("d1");
  });
});
