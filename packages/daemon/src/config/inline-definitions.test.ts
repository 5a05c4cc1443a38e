import { describe, expect, it } from "vitest";
import { inlineDefinitions } from "./config-document.ts";

describe("a schema with its definitions inlined", () => {
  it("holds what each reference stands for, at any depth, and no definitions", () => {
    const schema = {
      type: "object",
      properties: { list: { type: "array", items: { $ref: "#/$defs/Entry" } } },
      $defs: {
        Entry: { type: "object", properties: { family: { $ref: "#/$defs/Family" } }, required: ["family"] },
        Family: { type: "string", enum: ["a", "b"] },
      },
    };
    const family = { type: "string", enum: ["a", "b"] };
    const entry = { type: "object", properties: { family }, required: ["family"] };
    expect(inlineDefinitions(schema)).toEqual({
      type: "object",
      properties: { list: { type: "array", items: entry } },
    });
  });

  it("keeps what is said beside a reference rather than what the definition says", () => {
    const schema = {
      properties: { family: { $ref: "#/$defs/Family", description: "only for this one" } },
      $defs: { Family: { type: "string", description: "a program" } },
    };
    expect(inlineDefinitions(schema).properties?.family).toEqual({ type: "string", description: "only for this one" });
  });
});
