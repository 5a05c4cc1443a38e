import type { StepEvent } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { digestEvent } from "./digest-event.ts";
import { followStep } from "./follow-steps.ts";
import { newTrail, type StepTrail } from "./step.ts";

const follow = (events: readonly StepEvent[]): StepTrail =>
  events.reduce((trail, event) => followStep(trail, event, 0), newTrail);

const digested = (event: StepEvent) => digestEvent(event, false);
const result = (text: string): StepEvent => ({ kind: "tool_result", tool: "shell", text });

describe("an event of a run", () => {
  it("has digests instead of its content, and keeps the rest", () => {
    const event = digested({
      kind: "tool_call",
      id: "1",
      tool: "shell",
      args: "rm -rf secret",
      tokens: 7,
      at: 3,
      step: 2,
    });
    expect(JSON.stringify(event)).not.toContain("secret");
    expect(event).toEqual({ kind: "tool_call", id: "1", tool: "shell", tokens: 7, args_digest: expect.any(String) });
  });

  it("keeps the digests it came with: they are of the whole, its text may be an excerpt", () => {
    const event = digested({ ...result("the beginning"), text_digest: "d", text_class: "c" });
    expect(event).toMatchObject({ text_digest: "d", text_class: "c" });
    expect(digested({ kind: "tool_call", args: "x", args_digest: "a" }).args_digest).toBe("a");
  });

  it("unknown stays unknown, also beside an excerpt", () => {
    const excerpt = {
      kind: "tool_result",
      args: "a",
      args_digest: null,
      text: "b",
      text_digest: null,
      text_class: null,
    };
    expect(digested(excerpt as StepEvent)).toEqual({ kind: "tool_result" });
    expect(digested({ kind: "tool_result", args_digest: null, text: null, failed: null })).toEqual({
      kind: "tool_result",
    });
  });

  it("has one class for what differs in numbers, ids and times, and another for another name", () => {
    const classOf = (text: string) => digested(result(text)).text_class;
    expect(classOf("a.ts:17: undefined x, run 3f9a2b7c at 10:31:07")).toBe(
      classOf("a.ts:203: undefined x, run 88cc01de at 23:59:59"),
    );
    expect(classOf("no such file: src/a.ts")).not.toBe(classOf("no such file: src/b.ts"));
    expect(classOf('unknown word "left"')).not.toBe(classOf('unknown word "right"'));
  });

  it("of many lines differs in class where its middle differs, however long it is", () => {
    const page = (middle: string) => [...Array(150).fill("a"), middle, ...Array(150).fill("z")].join("\n");
    const classOf = (text: string) => digested(result(text)).text_class;
    expect(classOf(page("one"))).not.toBe(classOf(page("two")));
    expect(classOf(`${page("one")}\n17`)).toBe(classOf(`${page("one")}\n18`));
  });

  it("keeps 300 characters of text where the user wants text, and the digests of all of it", () => {
    const long = "x".repeat(1000);
    const event = digestEvent({ kind: "message", role: "agent", text: long }, true);
    expect(event.text).toHaveLength(300);
    expect(event.text_digest).toBe(digested({ kind: "message", role: "agent", text: long }).text_digest);
    expect(digestEvent({ kind: "tool_call", args: long }, true).args).toHaveLength(300);
  });

  it("still says that a sibling called it off, and that a message says nothing", () => {
    expect(digested(result("<error>Sibling tool call errored</error>")).cancelled).toBe(true);
    const say = (text: string): StepEvent => ({ kind: "message", role: "agent", text });
    expect(follow([digested(say(" \n"))]).said).toEqual([{ event: 0, text: null, textClass: null }]);
    const claimed = digested({ ...say("\n"), text_digest: "not-empty", text_class: "c" });
    expect(follow([claimed]).said[0]?.textClass).toBeNull();
  });
});
