import { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { readSessionLine } from "./read-stream.ts";
import { startStream } from "./stream-state.ts";

const clock = { now: 1_794_866_700_000, utcOffset: 0 };
const sessionID = "ses_e199cda3cffesTfB5JfaggfknF";

/** Events of opencode 1.18.33, without fields that are not read. */
const begun = 1_794_866_620_000;
const created = {
  type: "session.created.1",
  data: { sessionID, info: { id: sessionID, version: "1.18.33", time: { created: begun, updated: begun } } },
};
const message = (info: object) => ({ type: "message.updated.1", data: { sessionID, info } });
const part = (fields: object, messageID = "msg_a1", time = begun + 500) => ({
  type: "message.part.updated.1",
  data: { sessionID, part: { id: "prt_1", sessionID, messageID, ...fields }, time },
});
const spent = { total: 9242, input: 1200, output: 42, reasoning: 0, cache: { read: 8000, write: 0 } };
const person = message({ id: "msg_u1", role: "user", time: { created: begun } });
const asked = (id = "msg_a1") => message({ id, role: "assistant", time: { created: begun + 100 } });
const answered = (more: object, id = "msg_a1") =>
  message({ id, role: "assistant", time: { created: begun + 100, completed: begun + 900 }, tokens: spent, ...more });
const call = (state: object) => part({ type: "tool", callID: "c1", tool: "bash", state });
const input = { command: "cat missing.txt", description: "Run a command" };
const failedCall = { status: "completed", input, output: "No such file", metadata: { exit: 1 } };

function read(lines: readonly object[], since = 0): Sight[] {
  let state = startStream();
  return lines.flatMap((line) => {
    const step = readSessionLine("opencode", state, JSON.stringify(line), clock, since);
    state = step.state;
    return step.sights.map((sight) => Sight.parse(sight));
  });
}

/** Without the session and the request to the model. */
const during = (...lines: object[]) => read([created, asked(), ...lines]).slice(2);

describe("the log opencode keeps of a conversation", () => {
  it("tells a call when it begins and when it ends, each once", () => {
    const running = { status: "running", input };
    const lines = [
      call({ status: "pending", input: {}, raw: "" }),
      call(running),
      call({ ...running, metadata: { output: "No such" } }),
      call(failedCall),
    ];
    expect(during(...lines)).toMatchObject([
      { kind: "tool-started", id: "c1", name: "bash" },
      { kind: "tool-ended", id: "c1", failed: true },
    ]);
    expect(during(...lines.slice(0, 2))).toHaveLength(1);
  });

  it("tells each request, its tokens once, and the end of the turn with the answer that calls nothing", () => {
    expect(
      read([
        created,
        person,
        asked(),
        asked(),
        answered({ finish: "tool-calls" }),
        answered({ finish: "tool-calls" }),
        person,
        asked("msg_a2"),
        answered({ finish: "stop" }, "msg_a2"),
      ]),
    ).toEqual([
      { kind: "session", id: sessionID, model: null, version: "1.18.33" },
      { kind: "model-asked" },
      { kind: "tokens", total: 1242 },
      { kind: "model-asked" },
      { kind: "tokens", total: 2484 },
      { kind: "turn-ended", outcome: "success", reason: "stop" },
    ]);
  });

  it("tells what the agent says when it is whole, and nothing of what a person says", () => {
    expect(during(part({ type: "text", text: "change the greeting" }, "msg_u1"))).toEqual([]);
    expect(during(part({ type: "text", text: "I wi", time: { start: begun } }))).toEqual([]);
    expect(during(part({ type: "text", text: "I will.", time: { start: begun, end: begun + 1 } }))).toMatchObject([
      { kind: "said" },
    ]);
  });

  it("tells a compaction, and why, and that the turn goes on with its summary", () => {
    const summary = { type: "text", text: "## Goal", time: { start: begun, end: begun + 1 } };
    expect(
      during(
        answered({}),
        part({ type: "compaction", auto: true, overflow: true }, "msg_u2"),
        asked("msg_a2"),
        part(summary, "msg_a2"),
        answered({ summary: true, finish: "stop" }, "msg_a2"),
        asked("msg_a3"),
        part({ ...summary, text: "On with it." }, "msg_a3"),
      ).filter(({ kind }) => kind !== "tokens"),
    ).toMatchObject([
      { kind: "context-limit" },
      { kind: "compacts", over: false },
      { kind: "model-asked" },
      { kind: "compacts", over: true },
      { kind: "model-asked" },
      { kind: "said" },
    ]);
  });

  it("tells how a turn failed, by the program's own word", () => {
    const error = { name: "APIError", data: { message: "Error: 429 Too Many Requests" } };
    expect(during(answered({ error })).slice(1)).toMatchObject([
      { kind: "rate-limited", by: "stream" },
      { kind: "turn-ended", outcome: "failure", reason: "APIError" },
    ]);
    const broken = { name: "MessageAbortedError", data: { message: "The operation was aborted." } };
    expect(during(answered({ error: broken })).slice(1)).toEqual([
      { kind: "turn-ended", outcome: "failure", reason: "MessageAbortedError" },
    ]);
  });

  it("tells nothing of an earlier life, whose conversation goes on", () => {
    expect(read([created, person, asked(), call(failedCall), answered({ finish: "stop" })], begun + 60_000)).toEqual(
      [],
    );
    expect(read([asked(), call(failedCall)], begun).map(({ kind }) => kind)).toContain("tool-ended");
  });

  it("whose events are not as expected says nothing", () => {
    for (const line of [{}, { type: 7 }, { type: "message.updated.1" }, part({ type: "tool", callID: 7 }), message({})])
      expect(read([line]).filter(({ kind }) => kind !== "session")).toEqual([]);
  });
});
