import { Sight } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasWords, readSessionLine } from "./read-stream.ts";
import { startStream } from "./stream-state.ts";

const clock = { now: Date.UTC(2026, 10, 16, 14), utcOffset: 0 };

function read(family: "claude-code" | "codex", lines: readonly object[], since = 0): Sight[] {
  let state = startStream();
  return lines.flatMap((line) => {
    const step = readSessionLine(family, state, JSON.stringify(line), clock, since);
    state = step.state;
    return step.sights.map((sight) => Sight.parse(sight));
  });
}

const base = { sessionId: "s1", version: "2.1.325", isSidechain: false, timestamp: "2026-11-16T13:59:00.000Z" };
const refused = {
  ...base,
  type: "assistant",
  message: {
    model: "<synthetic>",
    content: [{ type: "text", text: "You've hit your 5-hour limit · resets 8:18pm (UTC)" }],
  },
  apiError: "usage_limit_reached",
  apiErrorParams: { rate_limit_info: { status: "rejected", resetsAt: clock.now / 1000 + 600 } },
};

describe("the file Claude Code keeps of its conversation", () => {
  it("tells of a limit with the reset in its field, and that the turn is over", () => {
    expect(read("claude-code", [refused])).toMatchObject([
      { kind: "session", id: "s1", version: "2.1.325" },
      { kind: "rate-limited", by: "stream", resetsInMs: 600_000 },
      { kind: "turn-ended", outcome: "failure", reason: "usage_limit_reached" },
    ]);
  });

  it("begins a turn with words of a person, not with what the program itself put there", () => {
    const user = (more: object) => read("claude-code", [{ ...base, type: "user", message: { content: "x" }, ...more }]);
    expect(user({ promptSource: "typed" }).map(({ kind }) => kind)).toEqual(["session", "model-asked"]);
    for (const own of [{}, { promptSource: "x", isMeta: true }, { promptSource: "x", isCompactSummary: true }])
      expect(user(own).map(({ kind }) => kind)).toEqual(["session"]);
  });

  it("tells nothing of an earlier life, whose conversation goes on in it", () => {
    expect(read("claude-code", [refused], Date.parse(base.timestamp) + 60_000)).toEqual([]);
  });

  it("tells retries and compactions", () => {
    const system = (more: object) => ({ ...base, type: "system", ...more });
    expect(
      read("claude-code", [
        system({ subtype: "api_error", retryAttempt: 2, retryInMs: 500, error: { status: 529 } }),
        system({ subtype: "compact_boundary" }),
      ]).slice(1),
    ).toEqual([
      { kind: "retries", attempt: 2, inMs: 500, status: 529 },
      { kind: "compacts", over: true },
    ]);
  });

  describe("of work in the background", () => {
    const result = (toolUseResult: object, text = "ok") => ({
      ...base,
      type: "user",
      toolUseResult,
      message: { content: [{ type: "tool_result", tool_use_id: "t", content: text }] },
    });
    const ended = { ...base, type: "system", subtype: "turn_duration" };
    const over = (id: string) => `<task-notification>\n<task-id>${id}</task-id>\n<status>completed</status>`;
    const wakers = (...lines: object[]) =>
      read("claude-code", lines).flatMap((sight) => (sight.kind === "turn-ended" ? [sight.wokenBy] : []));
    const shell = result({ stdout: "", backgroundTaskId: "b1" });
    const helper = result({ status: "async_launched", agentId: "a1" });

    it("tells that it wakes the agent", () => {
      expect(wakers(shell, ended, ended)).toEqual(["children", "children"]);
      expect(wakers(helper, ended)).toEqual(["children"]);
      expect(wakers(result({ stdout: "" }, "Command running in background with ID: b1."), ended)).toEqual([undefined]);
      expect(wakers(result({ status: "completed", agentId: "a1" }), ended)).toEqual([undefined]);
    });

    it("is over when the program says so, or the agent has ended it", () => {
      const queued = (id: string) => ({ ...base, type: "queue-operation", operation: "enqueue", content: over(id) });
      const prompt = (id: string) => ({
        ...base,
        type: "user",
        promptSource: "system",
        message: { content: over(id) },
      });
      const stopped = result({ message: "Successfully stopped task: b1", task_id: "b1" });
      for (const end of [queued("b1"), prompt("b1"), stopped]) expect(wakers(shell, end, ended)).toEqual([undefined]);
      for (const end of [queued("b2"), prompt("b2")]) expect(wakers(shell, end, ended)).toEqual(["children"]);
      expect(wakers(shell, helper, queued("b1"), ended)).toEqual(["children"]);
    });
  });

  it("shows that words of ours were put before the model, and nobody else can say so", () => {
    const attachment = { type: "hook_additional_context", content: ["The last 5 calls were identical."] };
    expect(hasWords(JSON.stringify({ type: "attachment", attachment }), "5 calls were identical")).toBe(true);
    expect(hasWords(JSON.stringify({ type: "attachment", attachment }), "something else")).toBe(false);
    const quoted = { type: "user", message: { content: "The last 5 calls were identical." } };
    expect(hasWords(JSON.stringify(quoted), "5 calls were identical")).toBe(false);
  });
});

describe("the file Codex keeps of its conversation", () => {
  const line = (type: string, payload: object) => ({ timestamp: base.timestamp, type, payload });
  const call = line("response_item", {
    type: "function_call",
    name: "exec_command",
    arguments: '{"cmd":"x"}',
    call_id: "c1",
  });

  it("ends a call by its output where no item of its own tells that, without the id and the time above it", () => {
    const output = (chunk: string) =>
      line("response_item", {
        type: "function_call_output",
        call_id: "c1",
        output: `Chunk ID: ${chunk}\nWall time: ${chunk.length} seconds\nProcess exited with code 1\nno`,
      });
    const [first, second] = ["aaa", "bbbbb"].map((chunk) => read("codex", [call, output(chunk)])[1]);
    expect(first).toMatchObject({ kind: "tool-ended", failed: true });
    expect(first).toEqual(second);
  });

  const used = (percent: number, resetsAt: number) => ({
    used_percent: percent,
    window_minutes: 300,
    resets_at: resetsAt,
  });
  const counted = (primary: object | null, secondary: object | null) =>
    line("event_msg", { type: "token_count", info: null, rate_limits: { limit_id: "codex", primary, secondary } });
  const ended = (codex_error_info: string, message: string) =>
    line("event_msg", { type: "task_complete", last_agent_message: null, error: { message, codex_error_info } });
  const now = clock.now / 1000;

  it("tells a turn that its usage limit ended, and to the second when that is over", () => {
    const words = "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com) or try again at 2:51 PM.";
    const over = ended("usage_limit_exceeded", words);
    const failed = { kind: "turn-ended", outcome: "failure", reason: "usage_limit_exceeded" };
    const limited = (resetsInMs: number, withinMs = 0) => [
      { kind: "rate-limited", by: "stream", resetsInMs, withinMs },
      failed,
    ];
    expect(read("codex", [counted(used(100, now + 40), used(30, now + 400_000)), over])).toMatchObject(limited(40_000));
    expect(read("codex", [counted(used(100, now + 40), used(100, now + 90_000)), over])).toMatchObject(
      limited(90_000_000),
    );
    // Windows that are not used up say nothing, nor does one that is over; the text may mean any moment of its minute.
    const unused = [counted(used(90, now + 40), null), counted(null, null), counted(used(100, now - 40), null)];
    for (const told of unused) expect(read("codex", [told, over])).toMatchObject(limited(51 * 60_000, 60_000));
  });

  it("tells a turn that failed from one that succeeded, though both are complete", () => {
    const full = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history.";
    expect(read("codex", [ended("context_window_exceeded", full)])).toEqual([
      { kind: "context-limit", pattern: "context_window_exceeded" },
      { kind: "turn-ended", outcome: "failure", reason: "context_window_exceeded" },
    ]);
    const done = line("event_msg", { type: "task_complete", last_agent_message: "All done." });
    expect(read("codex", [done])).toEqual([{ kind: "turn-ended", outcome: "success", reason: "task_complete" }]);
  });

  it("names the turn that is under way until it ends, however it ends", () => {
    let state = startStream();
    const turnAfter = (payload: object): string | null => {
      state = readSessionLine("codex", state, JSON.stringify(line("event_msg", payload)), clock, 0).state;
      return state.turn;
    };
    for (const type of ["task_complete", "turn_aborted"]) {
      expect(turnAfter({ type: "task_started", turn_id: "t1" })).toBe("t1");
      expect(turnAfter({ type: "token_count" })).toBe("t1");
      expect(turnAfter({ type, turn_id: "t1" })).toBeNull();
    }
  });
});

it("a line of anything at all is read without harm", () => {
  fc.assert(
    fc.property(fc.constantFrom("claude-code", "codex"), fc.jsonValue(), fc.string(), (family, value, text) => {
      for (const type of ["user", "assistant", "system", "response_item", "event_msg", "session_meta"])
        read(family as "codex", [{ type, message: value, payload: value, content: text }]);
    }),
  );
});
