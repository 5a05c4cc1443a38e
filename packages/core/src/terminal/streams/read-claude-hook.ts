import type { Question, Sight } from "@rouse/contract";
import type { WallClock } from "../reading.ts";
import { nameOwnFailure, needOf } from "./name-failure.ts";
import { timeoutOf } from "./read-claude.ts";
import { type Fields, fieldsOf, listOf, nameOf, textOf } from "./read-fields.ts";
import {
  andThen,
  closeOpenTool,
  endWith,
  enterSession,
  openTool,
  type Step,
  type StreamState,
  saw,
  turnEnded,
} from "./stream-state.ts";

/**
 * Reads one hook of Claude Code. Messages are left to the session file: hooks have only the last of a turn. Unknown
 * hooks say nothing.
 */
export function readClaudeHook(before: StreamState, hook: Fields, clock: WallClock): Step {
  // To the main agent a sub-agent is a tool that runs.
  if (nameOf(hook.agent_id) !== null) return saw(before, ...goesOn(before));
  const entered = enterSession(before, nameOf(hook.session_id), null, null);
  return andThen(entered, (state) => readEvent(state, hook, clock));
}

const goesOn = ({ tools }: StreamState): readonly Sight[] =>
  tools.slice(-1).map((id) => ({ kind: "tool-goes-on", id }));

function readEvent(state: StreamState, hook: Fields, clock: WallClock): Step {
  switch (hook.hook_event_name) {
    case "UserPromptSubmit":
      return andThen(answered(state), (after) => saw({ ...after, tools: [] }, { kind: "model-asked" }));
    case "PreToolUse":
      return andThen(answered(state), (after) => startTool(after, hook));
    case "PermissionRequest":
      return ask(state, questionOf(hook.tool_name), "permission request");
    case "Notification":
      return readNotification(state, hook);
    case "PostToolUse":
      // The result is read off the batch, where it stands as the model gets it: both eyes must see the same result.
      return andThen(answered(state), (after) => saw(after, ...goesOn(after)));
    case "PostToolUseFailure":
      return andThen(answered(state), (after) => closeOpenTool(after, hook.tool_use_id, true, hook.error ?? ""));
    case "PostToolBatch":
      return andThen(answered(state), (after) => endBatch(after, hook));
    case "PreCompact":
      return saw(state, { kind: "compacts", over: false });
    case "PostCompact":
      return saw(state, { kind: "compacts", over: true });
    case "Stop":
      return andThen(answered(state), (after) => endTurn(after, hook));
    case "StopFailure":
      return andThen(answered(state), (after) => failTurn(after, hook, clock));
    default:
      return saw(state);
  }
}

function ask(state: StreamState, what: Question, pattern: string): Step {
  return state.asking ? saw(state) : saw({ ...state, asking: true }, { kind: "asks", what, pattern });
}

/** The program goes on, so its question was answered. */
const answered = (state: StreamState): Step =>
  state.asking ? saw({ ...state, asking: false }, { kind: "asks-no-more" }) : saw(state);

function questionOf(tool: unknown): Question {
  if (tool === "ExitPlanMode") return "plan";
  return tool === "AskUserQuestion" ? "question" : "permission";
}

function readNotification(state: StreamState, { notification_type: type }: Fields): Step {
  switch (type) {
    case "permission_prompt":
      return ask(state, "permission", type);
    case "elicitation_dialog":
    case "agent_needs_input":
      return ask(state, "question", type);
    default:
      return saw(state);
  }
}

function startTool(state: StreamState, { tool_use_id: id, tool_name: name, tool_input: input }: Fields): Step {
  return openTool(state, { id, name, args: input ?? {} }, timeoutOf(name, fieldsOf(input)));
}

/** The model is asked next, with all results. */
function endBatch(before: StreamState, hook: Fields): Step {
  let step = saw(before);
  for (const call of listOf(hook.tool_calls).slice(0, 64).map(fieldsOf)) {
    step = andThen(step, (state) => closeOpenTool(state, call?.tool_use_id, false, call?.tool_response ?? ""));
  }
  return andThen(step, (state) => saw(state, { kind: "model-asked" }));
}

function endTurn(state: StreamState, hook: Fields): Step {
  const after = endWith({ ...state, tools: [] }, textOf(hook.last_assistant_message) ?? "");
  return saw(after, { ...turnEnded("success", "Stop"), ...wakerIn(hook) });
}

/** The program wakes its agent when background work is done, or at a set time. */
function wakerIn(hook: Fields): { readonly wokenBy?: "children" | "schedule" } {
  if (listOf(hook.background_tasks).length > 0) return { wokenBy: "children" };
  return listOf(hook.session_crons).length > 0 ? { wokenBy: "schedule" } : {};
}

function failTurn(state: StreamState, hook: Fields, clock: WallClock): Step {
  const error = nameOf(hook.error) ?? "unknown";
  const text = textOf(hook.last_assistant_message) ?? textOf(hook.error_details) ?? error;
  const named = nameOwnFailure(text, error, clock);
  const isPutOff = error === "rate_limit" || error === "overloaded";
  const failure: Sight =
    isPutOff && named.kind !== "rate-limited"
      ? { kind: "rate-limited", pattern: error, resetsInMs: null, by: "stream" }
      : named;
  return saw({ ...state, tools: [], ending: null }, needOf(error) ?? failure, turnEnded("failure", error));
}
