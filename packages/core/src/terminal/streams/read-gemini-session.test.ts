import { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { readSessionLine } from "./read-stream.ts";
import { startStream } from "./stream-state.ts";

const clock = { now: Date.UTC(2026, 10, 16, 20), utcOffset: 0 };
const timestamp = "2026-11-16T19:39:28.952Z";

/** Lines of Gemini CLI 0.61.0, without fields that are not read. */
const head = { sessionId: "1f2da962-a9a6-4c86-80ec-55563bebd55b", startTime: timestamp, kind: "main" };
const person = { id: "u1", timestamp, type: "user", content: [{ text: "change the greeting" }] };
const tokens = { input: 1200, output: 42, cached: 200, thoughts: 0, tool: 0, total: 1242 };
const answer = (more: object = {}) => ({ id: "g1", timestamp, type: "gemini", content: "", tokens, ...more });
const call = (id: string, pgid: number, exit = 1, status = "success") => {
  const output = `<untrusted_context>\nOutput: No such file\nExit Code: ${exit}\nProcess Group PGID: ${pgid}\n</untrusted_context>`;
  const result = [{ functionResponse: { id, name: "run_shell_command", response: { output } } }];
  return { id, name: "run_shell_command", args: { command: "cat missing.txt" }, result, status };
};

function read(lines: readonly object[], since = 0): Sight[] {
  let state = startStream();
  return lines.flatMap((line) => {
    const step = readSessionLine("gemini-cli", state, JSON.stringify(line), clock, since);
    state = step.state;
    return step.sights.map((sight) => Sight.parse(sight));
  });
}

describe("the file Gemini CLI keeps of its conversation", () => {
  it("tells an answer once, though it is written again with its calls", () => {
    const said = answer({ content: "I will look." });
    expect(
      read([head, { $set: { messages: [] } }, person, said, { ...said, toolCalls: [call("c1", 18)] }]),
    ).toMatchObject([
      { kind: "session", id: head.sessionId },
      { kind: "said" },
      { kind: "tokens", total: 1042 },
      { kind: "tool-started", id: "c1", name: "run_shell_command" },
      { kind: "tool-ended", id: "c1", failed: true },
    ]);
  });

  it("tells the same result of the same command, whichever process ran it", () => {
    const results = read([answer({ toolCalls: [call("c1", 1810), call("c2", 1943)] })]).flatMap((sight) =>
      sight.kind === "tool-ended" ? [sight.resultDigest] : [],
    );
    expect(results[0]).toBe(results[1]);
  });

  it.each([
    [0, "success", false],
    [2, "success", true],
    [0, "error", true],
  ])("tells whether a call failed (exit %i, %s)", (exit, status, failed) => {
    expect(read([answer({ toolCalls: [call("c1", 1, exit, status)] })]).at(-1)).toMatchObject({ failed });
  });

  it("tells a limit by the program's own word, and nothing of an earlier life", () => {
    const error = { id: "e1", timestamp, type: "error", content: "[API Error: You exceeded your current quota]" };
    expect(read([error])).toMatchObject([{ kind: "rate-limited", by: "stream" }]);
    expect(read([person, error, answer()], clock.now)).toEqual([]);
  });
});
