import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { classOfText, digestOf, maskDetails } from "../mask-text.ts";
import { readStreamLine, startStream } from "./read-stream.ts";
import { geminiLines } from "./recorded-streams.test-support.ts";

const clock = { now: 1_800_000_000_000, utcOffset: 0 };

function read(...lines: object[]): Sight[] {
  let state = startStream();
  return lines.flatMap((line) => {
    const step = readStreamLine("gemini-cli", state, JSON.stringify(line), clock);
    state = step.state;
    return step.sights;
  });
}

describe("a run of Gemini CLI", () => {
  it("is told from its stream", () => {
    const loop = maskDetails("Loop detected, stopping execution");
    expect(read(...geminiLines)).toEqual([
      { kind: "session", id: "b1f0", model: "gemini-3-pro", version: null },
      { kind: "model-asked" },
      { kind: "said", digest: digestOf("I will look."), class: classOfText("I will look.") },
      {
        kind: "tool-started",
        id: "read_file-1",
        name: "read_file",
        argsDigest: digestOf('{"from":1,"path":"a.ts"}'),
        timeoutSeconds: null,
      },
      {
        kind: "tool-started",
        id: "shell-2",
        name: "run_shell_command",
        argsDigest: digestOf('{"command":"npm test"}'),
        timeoutSeconds: null,
      },
      {
        kind: "tool-ended",
        id: "read_file-1",
        failed: false,
        resultDigest: digestOf("text"),
        resultClass: classOfText("text"),
      },
      {
        kind: "tool-ended",
        id: "shell-2",
        failed: true,
        resultDigest: digestOf('{"message":"exit 1","type":"EXECUTION_FAILED"}'),
        resultClass: classOfText("exit 1\nEXECUTION_FAILED"),
      },
      { kind: "model-asked" },
      { kind: "error", pattern: "warning", digest: digestOf(loop), text: loop },
      { kind: "rate-limited", pattern: "quota", resetsInMs: 34_000, withinMs: 0 },
      { kind: "said", digest: digestOf("Done."), class: classOfText("Done.") },
      { kind: "tokens", total: 900 },
      { kind: "turn-ended", outcome: "success", reason: "success" },
    ] satisfies Sight[]);
  });

  it("says the same thing however it is cut into pieces", () => {
    const pieces = (...texts: string[]) =>
      read(...texts.map((content) => ({ type: "message", role: "assistant", content, delta: true })), {
        type: "result",
        status: "success",
      });
    expect(pieces("a", "b", "cd")).toEqual(pieces("ab", "", "c", "d"));
    expect(pieces("x".repeat(30_000), "y")).toEqual(pieces(...Array<string>(300).fill("x".repeat(100)), "z"));
  });

  it.each([
    ["Loop detected, stopping execution", "loop detected"],
    ["Maximum session turns exceeded", "maximum turns"],
  ])("that gives up (%s) has failed, although its result is a success", (message, reason) => {
    const givesUp = { type: "error", severity: "warning", message };
    const result = { type: "result", status: "success" };
    expect(read(givesUp, result).at(-1)).toEqual({ kind: "turn-ended", outcome: "failure", reason });
    expect(read(givesUp, result, result).at(-1)).toMatchObject({ outcome: "success" });
  });

  it("fails with the kind of its error, and tells of a full context", () => {
    const error = { type: "FatalTurnLimitedError", message: "Reached max session turns for this session." };
    expect(read({ type: "result", status: "error", error, stats: { input_tokens: 3, output_tokens: 4 } })).toEqual([
      { kind: "tokens", total: 7 },
      { kind: "turn-ended", outcome: "failure", reason: "FatalTurnLimitedError" },
    ]);
    const full = { type: "Error", message: "The input exceeds the context window" };
    expect(read({ type: "result", status: "error", error: full })).toEqual([
      { kind: "context-limit", pattern: "result" },
      { kind: "turn-ended", outcome: "failure", reason: "Error" },
    ]);
  });
});
