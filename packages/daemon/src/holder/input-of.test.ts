import type { AgentFamily } from "@rouse/contract";
import { expect, it } from "vitest";
import { inputOf } from "./input-of.ts";
import type { Spec } from "./spec.ts";

it.each<[AgentFamily, Spec["io"], boolean, string]>([
  ["claude-code", "terminal", false, "terminal"],
  ["codex", "terminal", false, "terminal"],
  ["generic", "terminal", false, "none"],
  ["claude-code", "pipes", false, "none"],
  ["claude-code", "terminal", true, "none"],
])("words reach %s in a %s (its stream is read: %s) by: %s", (family, io, structured, input) => {
  expect(inputOf({ command: ["agent"], family, io, structured } as unknown as Spec)).toBe(input);
});
