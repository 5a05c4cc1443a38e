import { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { readHook } from "./read-stream.ts";
import { type StreamState, startStream } from "./stream-state.ts";

const clock = { now: Date.UTC(2026, 10, 16, 14), utcOffset: 0 };
const tool = { tool_name: "Bash", tool_input: { command: "npm test" }, tool_use_id: "toolu_1" };

function read(...hooks: readonly object[]): { sights: Sight[]; state: StreamState } {
  let state = startStream();
  const sights = hooks.flatMap((hook) => {
    const step = readHook(state, JSON.stringify({ session_id: "s1", ...hook }), clock);
    state = step.state;
    return step.sights.map((sight) => Sight.parse(sight));
  });
  return { sights, state };
}

const kinds = (...hooks: readonly object[]): string[] => read(...hooks).sights.map(({ kind }) => kind);
const on = (hook_event_name: string, more: object = {}) => ({ hook_event_name, ...more });

describe("the hooks of Claude Code", () => {
  it("tell a turn: the prompt, a call, what came of it, its end", () => {
    const batch = { tool_calls: [{ ...tool, tool_response: "ok" }] };
    expect(
      kinds(
        on("UserPromptSubmit", { prompt: "x" }),
        on("PreToolUse", tool),
        on("PostToolUse", { ...tool, tool_response: { stdout: "ok" } }),
        on("PostToolBatch", batch),
        on("Stop", { last_assistant_message: "Done." }),
      ),
    ).toEqual(["session", "model-asked", "tool-started", "tool-goes-on", "tool-ended", "model-asked", "turn-ended"]);
  });

  it("tell what will wake it after its turn", () => {
    const end = (more: object) => read(on("Stop", more)).sights.at(-1);
    const task = { id: "b1", type: "shell", status: "running", description: "x", command: "npm test" };
    const cron = { id: "c1", schedule: "*/5 * * * *", recurring: true, prompt: "x" };
    expect(end({ background_tasks: [task], session_crons: [cron] })).toMatchObject({ wokenBy: "children" });
    expect(end({ background_tasks: [], session_crons: [cron] })).toMatchObject({ wokenBy: "schedule" });
    expect(end({ background_tasks: [], session_crons: [] })).not.toHaveProperty("wokenBy");
  });

  it("tell that its account was refused", () => {
    const { sights } = read(on("StopFailure", { error: "authentication_failed" }));
    expect(sights.slice(1)).toMatchObject([
      { kind: "asks", what: "login" },
      { kind: "turn-ended", outcome: "failure" },
    ]);
  });

  it("tell a failed call at once, with what the model is told of it", () => {
    const { sights } = read(
      on("PreToolUse", tool),
      on("PostToolUseFailure", { ...tool, error: "Exit code 1\nno" }),
      on("PostToolBatch", { tool_calls: [{ ...tool, tool_response: "Exit code 1\nno" }] }),
    );
    expect(sights.filter(({ kind }) => kind === "tool-ended")).toMatchObject([{ id: "toolu_1", failed: true }]);
  });

  it("ask for a person once, name what for, and say when that is over", () => {
    const asks = (name: string) => read(on("PermissionRequest", { ...tool, tool_name: name })).sights.at(-1);
    expect(asks("Bash")).toMatchObject({ kind: "asks", what: "permission" });
    expect(asks("ExitPlanMode")).toMatchObject({ kind: "asks", what: "plan" });
    expect(asks("AskUserQuestion")).toMatchObject({ kind: "asks", what: "question" });
    expect(
      kinds(
        on("PermissionRequest", tool),
        on("Notification", { notification_type: "permission_prompt" }),
        on("PostToolUse", tool),
      ),
    ).toEqual(["session", "asks", "asks-no-more"]);
  });

  it("tell a limit with its reset, as the program's own word", () => {
    const words = "You've hit your usage limit · resets 3:30pm (UTC)";
    expect(read(on("StopFailure", { error: "rate_limit", last_assistant_message: words })).sights).toMatchObject([
      { kind: "session" },
      { kind: "rate-limited", by: "stream", resetsInMs: 90 * 60_000 },
      { kind: "turn-ended", outcome: "failure", reason: "rate_limit" },
    ]);
    expect(read(on("StopFailure", { error: "overloaded" })).sights[1]).toMatchObject({ kind: "rate-limited" });
    expect(read(on("StopFailure", { error: "server_error" })).sights[1]).toMatchObject({ kind: "error" });
  });

  it("of a sub-agent say that the tool which started it goes on, and no call of its own", () => {
    const inner = on("PreToolUse", { ...tool, tool_use_id: "toolu_2", agent_id: "a1" });
    expect(kinds(on("PreToolUse", tool), inner)).toEqual(["session", "tool-started", "tool-goes-on"]);
  });

  it("keep how its last words end, which may say that it is done", () => {
    expect(read(on("Stop", { last_assistant_message: "All good.\nDONE" })).state.ending).toBe("DONE");
  });

  it("say nothing where they make no sense", () => {
    expect(
      kinds(on("PreToolUse", { tool_use_id: 7 }), on("Nonsense"), on("PostToolBatch", { tool_calls: "x" })),
    ).toEqual(["session", "model-asked"]);
    for (const body of ["", "[]", "{", "null", '"x"']) expect(readHook(startStream(), body, clock).sights).toEqual([]);
  });
});
