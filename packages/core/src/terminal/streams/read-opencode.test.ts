import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { chooseFamily } from "../choose-family.ts";
import { readStreamLine, startStream } from "./read-stream.ts";

const clock = { now: 1_800_000_000_000, utcOffset: 0 };
const sessionID = "ses_e1b5bfb9dffe8JjM45yH07FdQe";

function read(...lines: object[]): Sight[] {
  let state = startStream();
  return lines.flatMap((line) => {
    const step = readStreamLine("opencode", state, JSON.stringify({ sessionID, ...line }), clock);
    state = step.state;
    return step.sights;
  });
}

const told = (...lines: object[]) => read(...lines).slice(1);
const call = (state: object) => ({ type: "tool_use", part: { type: "tool", tool: "bash", callID: "c1", state } });
const finish = (reason: string) => ({
  type: "step_finish",
  part: { reason, tokens: { total: 9242, input: 1200, output: 42, reasoning: 0, cache: { write: 0, read: 8000 } } },
});

describe("a run of opencode", () => {
  it("is read from its stream when it prints one", () => {
    const structured = (...command: string[]) => chooseFamily(["opencode", ...command]).structured;
    expect(structured("run", "--format", "json", "do it")).toBe(true);
    expect(structured("run", "do it")).toBe(false);
    expect(structured("run", "--format", "default", "--", "--format=json")).toBe(false);
    expect(structured("--format", "json")).toBe(false);
  });

  it("tells its conversation once", () => {
    expect(read({ type: "step_start" }, { type: "step_start" })).toEqual([
      { kind: "session", id: sessionID, model: null, version: null },
      { kind: "model-asked" },
      { kind: "model-asked" },
    ]);
  });

  it.each([
    ["that failed by itself", { status: "error", input: {}, error: "no such file" }, true],
    ["whose command failed", { status: "completed", input: {}, output: "no", metadata: { exit: 1 } }, true],
    ["that went well", { status: "completed", input: {}, output: "yes", metadata: { exit: 0 } }, false],
  ])("tells a call %s when it is over, and that the model is asked next", (_, state, failed) => {
    expect(told(call(state))).toMatchObject([
      { kind: "tool-started", id: "c1", name: "bash" },
      { kind: "tool-ended", id: "c1", failed },
      { kind: "model-asked" },
    ]);
  });

  it("goes on after a step with calls, and its turn ends with one without", () => {
    expect(told(finish("tool-calls"))).toEqual([{ kind: "tokens", total: 1242 }, { kind: "model-asked" }]);
    expect(told(finish("stop")).at(-1)).toEqual({ kind: "turn-ended", outcome: "success", reason: "stop" });
    expect(told(finish("length")).at(-1)).toEqual({ kind: "turn-ended", outcome: "failure", reason: "length" });
  });

  it("fails with an error, and says what kind", () => {
    const error = { name: "APIError", data: { message: "Error: 429 Too Many Requests" } };
    expect(told({ type: "error", error })).toEqual([
      { kind: "rate-limited", pattern: "429", resetsInMs: null },
      { kind: "turn-ended", outcome: "failure", reason: "APIError" },
    ]);
  });

  it("whose lines are not as expected says nothing", () => {
    for (const line of [
      { type: "tool_use" },
      { type: "tool_use", part: { callID: 7 } },
      { type: "text", part: 3 },
      { type: "newest" },
    ])
      expect(told(line)).toEqual([]);
  });
});
