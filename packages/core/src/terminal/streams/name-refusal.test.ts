import type { AgentFamily, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { refusalIn } from "./name-failure.ts";
import { readSessionLine, readStreamLine } from "./read-stream.ts";
import { startStream } from "./stream-state.ts";

const clock = { now: Date.UTC(2026, 10, 18, 5, 25), utcOffset: 0 };
const refused =
  "unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:23900/s/auth@au5/v1/responses";

/** As the programs wrote them when their key was refused: Codex 0.166.0, opencode 1.18.33, Gemini CLI 0.61.0. */
const codexStream = [
  { type: "thread.started", thread_id: "01a1ed1d-a33f-7363-b64c-2123084daf73" },
  { type: "turn.started" },
  { type: "error", message: `Reconnecting... 1/5 (${refused})` },
  { type: "error", message: `Reconnecting... 5/5 (${refused})` },
  { type: "error", message: refused },
  { type: "turn.failed", error: { message: refused } },
];
const codexRollout = (codex_error_info: unknown) => [
  {
    timestamp: "2026-11-18T05:25:11.985Z",
    type: "event_msg",
    payload: {
      type: "task_complete",
      turn_id: "01a1ed1d-a668-79e1-a1c7-58136f41c0b4",
      last_agent_message: null,
      error: { message: refused, codex_error_info },
    },
  },
];
const opencodeError = {
  name: "APIError",
  data: { message: "invalid x-api-key", statusCode: 401, isRetryable: false },
};
const opencodeStream = [{ type: "error", sessionID: "ses_e12ddc8b9ffeiymrRMPGJfGyaO", error: opencodeError }];
const opencodeLog = [
  { type: "message.updated.1", data: { sessionID: "s1", info: { id: "m1", role: "assistant", time: { created: 1 } } } },
  {
    type: "message.updated.1",
    data: {
      sessionID: "s1",
      info: { id: "m1", role: "assistant", time: { created: 1, completed: 2 }, error: opencodeError },
    },
  },
];
const geminiMessage = '[API Error: {"error":{"code":401,"message":"invalid x-api-key","status":"UNAVAILABLE"}}]';
const geminiStream = [
  { type: "result", status: "error", error: { type: "unknown", message: geminiMessage }, stats: { total_tokens: 12 } },
];
const geminiFile = [{ id: "e1", timestamp: "2026-11-18T05:30:05.311Z", type: "error", content: geminiMessage }];

function read(eye: typeof readStreamLine, family: AgentFamily, lines: readonly object[]): Sight[] {
  let state = startStream();
  return lines.flatMap((line) => {
    const step = eye(family, state, JSON.stringify(line), clock);
    state = step.state;
    return step.sights;
  });
}

const ofFile: typeof readStreamLine = (family, state, line, at) => readSessionLine(family, state, line, at, 0);

const ends = (sights: readonly Sight[]): string[] =>
  sights.flatMap((sight) => (sight.kind === "turn-ended" ? [`${sight.outcome}: ${sight.reason}`] : []));

describe("a key that is refused", () => {
  it.each([
    ["Codex's stream", readStreamLine, "codex", codexStream],
    ["Codex's session file", ofFile, "codex", codexRollout({ http_connection_failed: { http_status_code: 401 } })],
    ["Codex's session file, which only names it", ofFile, "codex", codexRollout("unauthorized")],
    ["opencode's stream", readStreamLine, "opencode", opencodeStream],
    ["opencode's log", ofFile, "opencode", opencodeLog],
    ["Gemini CLI's stream", readStreamLine, "gemini-cli", geminiStream],
    ["Gemini CLI's session file", ofFile, "gemini-cli", geminiFile],
  ] as const)("is a person's matter by the word of %s, from the first try on", (_, eye, family, lines) => {
    const sights = read(eye, family, lines);
    const kinds = sights.map(({ kind }) => kind).filter((kind) => ["asks", "error", "retries"].includes(kind));
    expect(new Set(kinds)).toEqual(new Set(["asks"]));
    expect(sights).toContainEqual({ kind: "asks", what: "login", pattern: "api 401" });
    expect(ends(sights)).toEqual(["failure: refused with 401"]);
  });

  it("is known by its words where the status means anything", () => {
    const invalid = "API key not valid. Please pass a valid API key.";
    const line = { type: "result", status: "error", error: { type: "unknown", message: invalid } };
    const sights = read(readStreamLine, "gemini-cli", [line]);
    expect(sights).toContainEqual({ kind: "asks", what: "login", pattern: "api authentication_failed" });
    expect(ends(sights)).toEqual(["failure: authentication_failed"]);
  });

  it("is not what every other failure means", () => {
    for (const message of [
      "unexpected status 500 Internal Server Error: try later",
      "unexpected status 4011",
      '{"error":{"code":401}} was printed by a tool',
      "401 tests failed",
      "the API key is not valid JSON",
    ])
      expect(refusalIn(message)).toBeNull();
  });
});

describe("a turn of Codex that failed for something else", () => {
  it("is named by what failed it, with the status beside it", () => {
    const lines = (info: unknown, message = "stream disconnected before completion") => [
      { type: "event_msg", payload: { type: "task_complete", error: { message, codex_error_info: info } } },
    ];
    expect(ends(read(ofFile, "codex", lines("other")))).toEqual(["failure: other"]);
    const status = { response_too_many_failed_attempts: { http_status_code: 500 } };
    expect(ends(read(ofFile, "codex", lines(status)))).toEqual(["failure: response_too_many_failed_attempts 500"]);
    const none = { http_connection_failed: { http_status_code: null } };
    expect(ends(read(ofFile, "codex", lines(none)))).toEqual(["failure: http_connection_failed"]);
  });
});
