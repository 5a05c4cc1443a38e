import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { classOfText, digestOf } from "../mask-text.ts";
import { readStreamLine, startStream } from "./read-stream.ts";
import { codexLines } from "./recorded-streams.test-support.ts";

const clock = { now: 1_800_000_000_000, utcOffset: 0 };

function read(...lines: object[]): Sight[] {
  let state = startStream();
  return lines.flatMap((line) => {
    const step = readStreamLine("codex", state, JSON.stringify(line), clock);
    state = step.state;
    return step.sights;
  });
}

describe("a run of Codex", () => {
  it("is told from its stream", () => {
    expect(read(...codexLines)).toEqual([
      { kind: "session", id: "0199a213", model: null, version: null },
      { kind: "model-asked" },
      {
        kind: "tool-started",
        id: "item_1",
        name: "command_execution",
        argsDigest: digestOf("bash -lc 'npm test'"),
        timeoutSeconds: null,
      },
      { kind: "tool-goes-on", id: "item_1" },
      {
        kind: "tool-ended",
        id: "item_1",
        failed: true,
        resultDigest: digestOf('[1,"2 failed\\n"]'),
        resultClass: classOfText("1\n2 failed\n"),
      },
      { kind: "model-asked" },
      {
        kind: "tool-started",
        id: "item_3",
        name: "file_change",
        argsDigest: digestOf('[{"kind":"update","path":"a.ts"}]'),
        timeoutSeconds: null,
      },
      {
        kind: "tool-ended",
        id: "item_3",
        failed: false,
        resultDigest: digestOf('["completed",[{"kind":"update","path":"a.ts"}]]'),
        resultClass: classOfText("completed\nupdate\na.ts"),
      },
      { kind: "model-asked" },
      { kind: "retries", attempt: 1, inMs: 0, status: null },
      {
        kind: "tool-started",
        id: "item_4",
        name: "docs.search",
        argsDigest: digestOf('{"limit":3,"q":"x"}'),
        timeoutSeconds: null,
      },
      {
        kind: "tool-started",
        id: "item_5",
        name: "spawn_agent",
        argsDigest: digestOf('["look",[]]'),
        timeoutSeconds: null,
      },
      {
        kind: "tool-ended",
        id: "item_4",
        failed: true,
        resultDigest: digestOf('{"message":"no such index"}'),
        resultClass: classOfText("no such index"),
      },
      {
        kind: "tool-ended",
        id: "item_5",
        failed: false,
        resultDigest: digestOf('{"0199a214":{"message":null,"status":"running"}}'),
        resultClass: classOfText("null\nrunning"),
      },
      { kind: "model-asked" },
      { kind: "tool-started", id: "item_6", name: "web_search", argsDigest: digestOf("vitest"), timeoutSeconds: null },
      {
        kind: "tool-ended",
        id: "item_6",
        failed: false,
        resultDigest: digestOf('{"type":"search"}'),
        resultClass: classOfText("search"),
      },
      { kind: "model-asked" },
      { kind: "said", digest: digestOf("Fixed."), class: classOfText("Fixed.") },
      { kind: "tokens", total: 24_500 },
      { kind: "turn-ended", outcome: "success", reason: "turn.completed" },
      { kind: "model-asked" },
      { kind: "rate-limited", pattern: "usage limit", resetsInMs: 7_500_000, withinMs: 60_000 },
      { kind: "rate-limited", pattern: "usage limit", resetsInMs: 7_500_000, withinMs: 60_000 },
      { kind: "turn-ended", outcome: "failure", reason: "usage limit" },
    ] satisfies Sight[]);
  });

  it("adds up the tokens of its turns", () => {
    const turn = { type: "turn.completed", usage: { input_tokens: 100, cached_input_tokens: 90, output_tokens: 10 } };
    expect(read(turn, turn).filter(({ kind }) => kind === "tokens")).toEqual([
      { kind: "tokens", total: 110 },
      { kind: "tokens", total: 220 },
    ]);
  });

  it("tells of an error once, though its turn fails with the same words", () => {
    const message = "unexpected status 500 Internal Server Error";
    const sights = read({ type: "error", message }, { type: "turn.failed", error: { message } });
    expect(sights.map(({ kind }) => kind)).toEqual(["error", "turn-ended"]);
    expect(sights[1]).toMatchObject({ outcome: "failure", reason: expect.stringMatching(/^unexpected status/) });
    expect(read({ type: "turn.failed" })).toEqual([{ kind: "turn-ended", outcome: "failure", reason: "turn.failed" }]);
  });

  it("takes a command that was not allowed, or ended with a code, for a failure", () => {
    const failed = (fields: object) => {
      const item = { id: "i", type: "command_execution", command: "x", ...fields };
      const sight = read({ type: "item.completed", item })[1];
      return sight?.kind === "tool-ended" ? sight.failed : undefined;
    };
    expect(failed({ exit_code: 0, status: "completed" })).toBe(false);
    expect(failed({ exit_code: 2, status: "completed" })).toBe(true);
    expect(failed({ exit_code: null, status: "declined" })).toBe(true);
    expect(failed({ exit_code: -1, status: "failed" })).toBe(true);
  });

  it("waits for its network in a way of its own", () => {
    const message = "Reconnecting... waiting for network (Connection failed: error sending request)";
    expect(read({ type: "error", message })).toEqual([
      { kind: "retries", attempt: 1, inMs: 0, status: null, cause: "no-connection" },
    ]);
    expect(read({ type: "error", message: "Reconnecting... 2/5 (unexpected status 502 Bad Gateway)" })).toEqual([
      { kind: "retries", attempt: 2, inMs: 0, status: 502 },
    ]);
  });
});
