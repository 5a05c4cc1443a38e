import type { AgentFamily } from "@rouse/contract";
import { expect, it } from "vitest";
import { inputOf, type Spec } from "./spec.ts";

it.each<[AgentFamily, Spec["io"], boolean, string]>([
  ["claude-code", "terminal", false, "terminal"],
  ["codex", "terminal", false, "terminal"],
  ["generic", "terminal", false, "none"],
  ["claude-code", "pipes", false, "none"],
  ["claude-code", "terminal", true, "none"],
])("words reach %s in a %s (its stream is read: %s) by: %s", (family, io, structured, input) => {
  expect(inputOf({ command: ["agent"], family, io, structured } as unknown as Spec)).toBe(input);
});

it("words are put into a turn rather than typed, where there is a screen of a program, and after hooks", () => {
  const now = { family: "codex", hooks: false, steer: true } as const;
  const spec = { command: ["codex"], family: "codex", io: "terminal", structured: false } as unknown as Spec;
  expect(inputOf(spec, now)).toBe("steer");
  expect(inputOf(spec, { ...now, hooks: true })).toBe("hook");
  expect(inputOf({ ...spec, structured: true }, now)).toBe("none");
});
