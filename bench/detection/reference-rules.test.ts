import type { StepEvent } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { geminiRule, openHandsRule } from "./reference-rules.ts";

const did = (args: string | null, result: string | null, failed = false): StepEvent[] => [
  { kind: "tool_call", tool: "shell", args_digest: args },
  { kind: "tool_result", text_digest: result, failed },
];
const says = (text: string): StepEvent => ({ kind: "message", role: "agent", text_digest: text });
const times = (n: number, make: (i: number) => StepEvent[]) => Array.from({ length: n }, (_, i) => make(i)).flat();

describe("the OpenHands rule", () => {
  it("calls the fourth same action with the same result", () => {
    expect(openHandsRule.firstAlarm(times(5, () => did("a", "x")))).toBe(7);
    expect(openHandsRule.firstAlarm(times(5, (i) => did("a", `x${i}`)))).toBeNull();
  });

  it("calls the third same action that fails, however it fails", () => {
    expect(openHandsRule.firstAlarm(times(3, (i) => did("a", `x${i}`, true)))).toBe(5);
  });

  it("calls a monologue of three and two actions in turn over six steps", () => {
    expect(openHandsRule.firstAlarm([says("so"), says("so"), says("so")])).toBe(2);
    expect(openHandsRule.firstAlarm(times(3, () => [...did("a", "x"), ...did("b", "y")]))).toBe(11);
  });

  it("takes nothing unknown for the same", () => {
    expect(openHandsRule.firstAlarm(times(9, () => did(null, null, true)))).toBeNull();
  });
});

describe("the Gemini CLI rule", () => {
  it("calls five rounds of one to five calls and never looks at results", () => {
    expect(geminiRule.firstAlarm(times(5, (i) => did("a", `x${i}`)))).toBe(8);
    expect(geminiRule.firstAlarm(times(5, () => [...did("a", "x"), ...did("b", "x"), ...did("c", "x")]))).toBe(28);
    expect(geminiRule.firstAlarm(times(4, () => did("a", "x")))).toBeNull();
    expect(geminiRule.firstAlarm(times(9, () => did(null, "x")))).toBeNull();
  });
});
