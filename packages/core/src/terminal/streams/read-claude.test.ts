import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { classOfText, digestOf } from "../mask-text.ts";
import { readStreamLine, type StreamState, startStream } from "./read-stream.ts";
import { claudeLines } from "./recorded-streams.test-support.ts";

const now = 1_800_000_000_000;
const clock = { now, utcOffset: 0 };

const readOn = (state: StreamState, ...lines: object[]): { state: StreamState; sights: Sight[] } => {
  const sights: Sight[] = [];
  for (const line of lines) {
    const step = readStreamLine("claude-code", state, JSON.stringify(line), clock);
    state = step.state;
    sights.push(...step.sights);
  }
  return { state, sights };
};
const read = (...lines: object[]) => readOn(startStream(), ...lines).sights;

const calls = (message: string, ...ids: string[]) => ({
  type: "assistant",
  message: { id: message, content: ids.map((id) => ({ type: "tool_use", id, name: "Read", input: { id } })) },
  parent_tool_use_id: null,
});
const result = (id: string, fields: object = {}) => ({
  type: "user",
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ok", ...fields }] },
  parent_tool_use_id: null,
});
const started = (id: string): Sight => ({
  kind: "tool-started",
  id,
  name: "Read",
  argsDigest: digestOf(`{"id":"${id}"}`),
  timeoutSeconds: null,
});
const ended = (id: string): Sight => ({
  kind: "tool-ended",
  id,
  failed: false,
  resultDigest: digestOf("ok"),
  resultClass: classOfText("ok"),
});

describe("a run of Claude Code", () => {
  it("is told from its stream", () => {
    expect(read(...claudeLines)).toEqual([
      { kind: "session", id: "5c7e", model: "claude-opus-4-5", version: "2.1.230" },
      { kind: "model-asked" },
      { kind: "retries", attempt: 1, inMs: 612.5, status: 529 },
      { kind: "said", digest: digestOf("I will run the tests."), class: classOfText("I will run the tests.") },
      { kind: "tokens", total: 1_312 },
      {
        kind: "tool-started",
        id: "toolu_1",
        name: "Bash",
        argsDigest: digestOf('{"command":"npm test","timeout":300000}'),
        timeoutSeconds: 300,
      },
      { kind: "tokens", total: 1_350 },
      { kind: "tool-goes-on", id: "toolu_1" },
      {
        kind: "tool-ended",
        id: "toolu_1",
        failed: true,
        resultDigest: digestOf("Exit code 1\n2 failed"),
        resultClass: classOfText("Exit code 1\n2 failed"),
      },
      { kind: "model-asked" },
      {
        kind: "tool-started",
        id: "toolu_2",
        name: "Task",
        argsDigest: digestOf('{"description":"look","prompt":"find it"}'),
        timeoutSeconds: null,
      },
      { kind: "tokens", total: 1_460 },
      { kind: "tool-goes-on", id: "toolu_2" },
      { kind: "tokens", total: 1_960 },
      { kind: "tool-goes-on", id: "toolu_2" },
      { kind: "tool-goes-on", id: "toolu_2" },
      { kind: "retries", attempt: 2, inMs: 4000, status: null },
      {
        kind: "tool-ended",
        id: "toolu_2",
        failed: false,
        resultDigest: digestOf('[{"text":"found","type":"text"}]'),
        resultClass: classOfText("found\ntext"),
      },
      { kind: "model-asked" },
      { kind: "compacts", over: false },
      { kind: "compacts", over: true },
      { kind: "rate-limited", pattern: "rate_limit_event", resetsInMs: 90_000, by: "stream" },
      { kind: "said", digest: digestOf("All tests pass."), class: classOfText("All tests pass.") },
      { kind: "tokens", total: 1_980 },
      { kind: "tokens", total: 2_100 },
      { kind: "turn-ended", outcome: "success", reason: "success" },
    ] satisfies Sight[]);
  });

  it("asks the model again only after the last of several tools", () => {
    expect(read(calls("msg_1", "a"), calls("msg_1", "b"), result("a"), result("b"))).toEqual([
      started("a"),
      started("b"),
      ended("a"),
      ended("b"),
      { kind: "model-asked" },
    ]);
  });

  it("knows a tool that a person did not allow from one that failed, and from one that only tells of such", () => {
    const cancelledWith = (content: string, is_error: boolean): unknown =>
      read(calls("msg_1", "a"), result("a", { content, is_error })).flatMap((sight) =>
        sight.kind === "tool-ended" ? [sight.cancelled] : [],
      )[0];
    expect(cancelledWith("The user doesn't want to proceed with this tool use.", true)).toBe(true);
    expect(cancelledWith("Exit code 1", true)).toBeUndefined();
    expect(cancelledWith("the log says: rejected by user", false)).toBeUndefined();
  });

  it("starts a tool once, though it is told of twice", () => {
    expect(read(calls("msg_1", "a"), calls("msg_1", "a"))).toEqual([started("a")]);
  });

  it("has ended a tool whose result could not be read once the model answers again", () => {
    expect(read(calls("msg_1", "a"), calls("msg_2", "b"))).toEqual([
      started("a"),
      { kind: "tool-ended", id: "a", failed: false, resultDigest: "" },
      started("b"),
    ]);
  });

  it("spends the tokens of a response once, however many lines repeat them", () => {
    const line = (id: string, output_tokens: number) => ({
      type: "assistant",
      message: { id, content: [], usage: { input_tokens: 10, output_tokens, cache_read_input_tokens: 50_000 } },
    });
    expect(read(line("a", 1), line("a", 1), line("a", 90), line("a", 90), line("b", 5))).toEqual([
      { kind: "tokens", total: 11 },
      { kind: "tokens", total: 100 },
      { kind: "tokens", total: 115 },
    ]);
  });

  it("spends tokens without a message's id by the id of the request", () => {
    const line = { type: "assistant", requestId: "req_1", message: { usage: { input_tokens: 7, output_tokens: 3 } } };
    expect(read(line, line)).toEqual([{ kind: "tokens", total: 10 }]);
  });

  it("keeps the same digest for the same call, whatever the order of its keys", () => {
    const call = (id: string, input: object) => ({
      type: "assistant",
      message: { content: [{ type: "tool_use", id, name: "Grep", input }] },
    });
    const [first, second, third] = read(
      call("1", { pattern: "x", path: { a: 1, b: [2] } }),
      call("2", { path: { b: [2], a: 1 }, pattern: "x" }),
      call("3", { path: { b: [3], a: 1 }, pattern: "x" }),
    ).map((sight) => (sight.kind === "tool-started" ? sight.argsDigest : null));
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it("believes a tool's timeout only for commands, and at most a week of it", () => {
    const timeout = (name: string, value: unknown) => {
      const content = [{ type: "tool_use", id: "a", name, input: { timeout: value } }];
      const [sight] = read({ type: "assistant", message: { content } });
      return sight?.kind === "tool-started" ? sight.timeoutSeconds : undefined;
    };
    expect(timeout("Bash", 90_500)).toBe(90.5);
    expect(timeout("Bash", 1e300)).toBe(604_800);
    expect(timeout("Bash", -1)).toBeNull();
    expect(timeout("Bash", "600000")).toBeNull();
    expect(timeout("WebFetch", 90_500)).toBeNull();
  });

  it("waits for its provider only when it was refused, and as long as can be believed", () => {
    const event = (status: string, resetsAt?: unknown) => ({
      type: "rate_limit_event",
      rate_limit_info: { status, resetsAt, utilization: 0.9 },
    });
    const at = now / 1000;
    expect(read(event("allowed", at + 60), event("allowed_warning", at + 60), event("of_another_kind"))).toEqual([]);
    expect(
      read(event("rejected", at + 60), event("rejected", at - 60), event("rejected"), event("rejected", now)),
    ).toEqual(
      [60_000, 0, null, null].map((resetsInMs) => ({
        kind: "rate-limited",
        pattern: "rate_limit_event",
        resetsInMs,
        by: "stream",
      })),
    );
  });

  it("does not wait for a limit beyond which it works on with extra usage", () => {
    const rejected = { status: "rejected", resetsAt: now / 1000 + 259_200, overageStatus: "allowed" };
    const event = (isUsingOverage: boolean) => ({
      type: "rate_limit_event",
      rate_limit_info: { ...rejected, isUsingOverage },
    });
    expect(read(event(true))).toEqual([]);
    expect(read(event(false))).toMatchObject([{ kind: "rate-limited", resetsInMs: 259_200_000 }]);
  });

  it("needs a person at once when its account is refused", () => {
    const retry = (error_status: number) => ({ type: "system", subtype: "api_retry", attempt: 1, error_status });
    const over = { type: "result", subtype: "success", is_error: true, api_error_status: 401, result: "Invalid key" };
    expect(read(retry(401), retry(403), retry(529)).map(({ kind }) => kind)).toEqual(["asks", "asks", "retries"]);
    expect(read(retry(401))).toEqual([{ kind: "asks", what: "login", pattern: "api 401" }]);
    const message = { model: "<synthetic>", content: [] };
    expect(read({ type: "assistant", error: "billing_error", message })).toMatchObject([{ what: "credits" }]);
    expect(read(over)).toMatchObject([{ what: "login" }, { kind: "turn-ended", reason: "is_error 401" }]);
  });

  it("tries again at once when it does not say when, and within days", () => {
    const retry = (delay: string) => {
      const line = `{"type":"system","subtype":"api_retry","attempt":3,"retry_delay_ms":${delay},"error_status":null}`;
      return readStreamLine("claude-code", startStream(), line, clock).sights;
    };
    for (const [delay, inMs] of [
      ["1500", 1500],
      ["null", 0],
      ["1e999", 0],
      ["-1", 0],
      ["1e300", 691_200_000],
    ] as const)
      expect(retry(delay)).toEqual([{ kind: "retries", attempt: 3, inMs, status: null }]);
    expect(read({ type: "system", subtype: "api_retry", attempt: "3" })).toEqual([]);
  });

  it("is over its compaction also when that failed, and only once", () => {
    const status = (value: string | null) => ({ type: "system", subtype: "status", status: value });
    const boundary = { type: "system", subtype: "compact_boundary", compact_metadata: { pre_tokens: 1 } };
    const begun: Sight = { kind: "compacts", over: false };
    const over: Sight = { kind: "compacts", over: true };
    expect(read(status(null), status("compacting"), status("compacting"), status(null))).toEqual([begun, over]);
    expect(read(status("compacting"), boundary, status(null))).toEqual([begun, over]);
  });
});

describe("the end of a turn of Claude Code", () => {
  const ending = (fields: object) => read({ type: "result", ...fields });

  it("is a failure by its kind or because it says so", () => {
    expect(ending({ subtype: "error_max_turns", is_error: false })).toEqual([
      { kind: "turn-ended", outcome: "failure", reason: "error_max_turns" },
    ]);
    expect(ending({ subtype: "success", is_error: true, result: "API Error: 500 Internal" })).toEqual([
      { kind: "turn-ended", outcome: "failure", reason: "is_error" },
    ]);
    expect(ending({ subtype: "success", is_error: true, terminal_reason: "api_error", api_error_status: 500 })).toEqual(
      [{ kind: "turn-ended", outcome: "failure", reason: "api_error 500" }],
    );
    expect(ending({ subtype: "success", is_error: false, api_error_status: 404 })).toEqual([
      { kind: "turn-ended", outcome: "failure", reason: "is_error 404" },
    ]);
    expect(ending({})).toEqual([{ kind: "turn-ended", outcome: "failure", reason: "unknown" }]);
  });

  it("that its provider refused is a limit, also without a word about when it ends", () => {
    const refused = { subtype: "success", is_error: true, terminal_reason: "api_error" };
    expect(ending({ ...refused, api_error_status: 529, result: "API Error: 529 Overloaded." })[0]).toMatchObject({
      kind: "rate-limited",
      resetsInMs: null,
      what: "overloaded",
      by: "stream",
    });
    expect(ending({ ...refused, api_error_status: 429 })[0]).toMatchObject({ kind: "rate-limited", what: "rate" });
  });

  it("tells of a full context and of a limit, but not because a good answer mentions them", () => {
    expect(ending({ subtype: "success", is_error: true, result: "Prompt is too long" })).toEqual([
      { kind: "context-limit", pattern: "result" },
      { kind: "turn-ended", outcome: "failure", reason: "is_error" },
    ]);
    expect(
      ending({ subtype: "error_during_execution", is_error: true, errors: ["Error: 429 Too Many Requests"] }),
    ).toEqual([
      { kind: "rate-limited", pattern: "429", resetsInMs: null },
      { kind: "turn-ended", outcome: "failure", reason: "error_during_execution" },
    ]);
    expect(
      ending({ subtype: "success", is_error: false, result: "Fixed: prompt is too long, rate limit hit" }),
    ).toEqual([{ kind: "turn-ended", outcome: "success", reason: "success" }]);
  });

  it("never lets the tokens of the run fall", () => {
    const usage = { input_tokens: 5, output_tokens: 5 };
    const modelUsage = {
      opus: { inputTokens: 50, outputTokens: 30, cacheReadInputTokens: 1e6 },
      haiku: { outputTokens: 20 },
    };
    expect(
      read({ type: "result", subtype: "success", usage, modelUsage }, { type: "result", subtype: "success", usage }),
    ).toEqual([
      { kind: "tokens", total: 100 },
      { kind: "turn-ended", outcome: "success", reason: "success" },
      { kind: "turn-ended", outcome: "success", reason: "success" },
    ]);
  });

  it("is not the end of a sub-agent", () => {
    expect(
      read(
        { type: "result", subtype: "success", parent_tool_use_id: "toolu_2" },
        { type: "assistant", parent_tool_use_id: "toolu_2", message: calls("m", "inner").message },
        { ...result("inner"), parent_tool_use_id: "toolu_2" },
        { type: "stream_event", parent_tool_use_id: "toolu_2", event: { type: "content_block_delta" } },
      ),
    ).toEqual(Array(3).fill({ kind: "tool-goes-on", id: "toolu_2" }));
  });
});

describe("an answer of Claude Code that failed", () => {
  it("is a wait, a full context or an error", () => {
    const failed = (fields: object, stop_reason: string | null = null) =>
      read({ type: "assistant", ...fields, message: { content: [], stop_reason } });
    expect(failed({ error: "rate_limit" })).toEqual([
      { kind: "rate-limited", pattern: "rate_limit", resetsInMs: null, by: "stream" },
    ]);
    expect(failed({}, "model_context_window_exceeded")).toEqual([
      { kind: "context-limit", pattern: "model_context_window_exceeded" },
    ]);
    expect(failed({ error: "model_not_found" })).toMatchObject([
      { kind: "error", pattern: "assistant error", text: "model_not_found" },
    ]);
    expect(failed({}, "end_turn")).toEqual([]);
  });

  it("is nothing that the agent said, whatever its program wrote in its place", () => {
    const written = (fields: object, model = "<synthetic>") =>
      read({
        type: "assistant",
        message: { id: "4dbe", model, content: [{ type: "text", text: "API Error: 529 Overloaded." }] },
        ...fields,
      });
    const refused = { is_api_error_message: true, error: "server_error", api_error_status: 529 };
    const waits = [{ kind: "rate-limited", pattern: "overloaded", resetsInMs: null, by: "stream" }];
    expect(written(refused)).toEqual(waits);
    expect(written(refused, "claude-opus-4-5")).toEqual(waits);
    expect(written({})).toEqual([]);
    expect(written({ isApiErrorMessage: true }, "claude-opus-4-5")).toEqual([]);
    expect(written({}, "claude-opus-4-5")).toMatchObject([{ kind: "said" }]);
  });
});

describe("what is remembered of a stream", () => {
  it("stays small however much is open", () => {
    let state = startStream();
    for (let n = 0; n < 300; n++) {
      const usage = { input_tokens: 1, output_tokens: 0 };
      const message = { content: [{ type: "tool_use", id: `t${n}`, name: "Read", input: {} }] };
      state = readOn(
        state,
        { type: "assistant", message },
        { type: "assistant", parent_tool_use_id: "t0", message: { id: `m${n}`, usage } },
      ).state;
    }
    expect(state.tools).toHaveLength(64);
    expect(state.tools.at(-1)).toBe("t299");
    expect(state.counted).toHaveLength(64);
    expect(state.tokens).toBe(300);
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  });
});
