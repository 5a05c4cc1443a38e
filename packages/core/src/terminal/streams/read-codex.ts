import type { Sight } from "@rouse/contract";
import { causeOfRetry } from "../read-retry.ts";
import type { WallClock } from "../reading.ts";
import { nameFailure, refusalIn, statusIn } from "./name-failure.ts";
import { countOf, type Fields, fieldsOf, nameOf, textOf } from "./read-fields.ts";
import {
  andThen,
  askUnlessToolRuns,
  closeTool,
  openTool,
  raiseTokens,
  type Step,
  type StreamState,
  saw,
  say,
  turnEnded,
} from "./stream-state.ts";

type Stage = "item.started" | "item.updated" | "item.completed";
type ToolItem = "command_execution" | "mcp_tool_call" | "file_change" | "web_search" | "collab_tool_call";

/** Reads one line of `codex exec --json`. Unknown types say nothing. */
export function readCodex(state: StreamState, line: Fields, clock: WallClock): Step {
  switch (line.type) {
    case "thread.started": {
      const id = nameOf(line.thread_id);
      return id === null ? saw(state) : saw(state, { kind: "session", id, model: null, version: null });
    }
    case "turn.started":
      return saw(state, { kind: "model-asked" });
    case "item.started":
    case "item.updated":
    case "item.completed":
      return readItem(state, line.type, fieldsOf(line.item), clock);
    case "turn.completed":
      return readCompletedTurn(state, fieldsOf(line.usage));
    case "turn.failed":
      return readFailedTurn(state, textOf(fieldsOf(line.error)?.message), clock);
    case "error":
      return saw(state, ...failureIn(textOf(line.message), clock));
    default:
      return saw(state);
  }
}

function readItem(state: StreamState, stage: Stage, item: Fields | null, clock: WallClock): Step {
  switch (item?.type) {
    case "command_execution":
    case "mcp_tool_call":
    case "file_change":
    case "web_search":
    case "collab_tool_call":
      return readTool(state, stage, item, item.type);
    case "agent_message": {
      const text = stage === "item.completed" ? textOf(item.text) : null;
      return text === null ? saw(state) : say(state, text);
    }
    case "error":
      return stage === "item.completed" ? saw(state, ...failureIn(textOf(item.message), clock)) : saw(state);
    default:
      return saw(state);
  }
}

/** File changes are told only when done: a tool that was not seen to start starts now. */
function readTool(state: StreamState, stage: Stage, item: Fields, type: ToolItem): Step {
  const id = nameOf(item.id);
  if (id === null) return saw(state);
  const opened = openTool(state, { id: item.id, ...describeTool(item, type) });
  switch (stage) {
    case "item.started":
      return opened;
    case "item.updated":
      return opened.sights.length > 0 ? opened : saw(state, { kind: "tool-goes-on", id });
    case "item.completed": {
      const closed = andThen(opened, (after) => closeTool(after, id, hasFailed(item), resultOf(item, type)));
      return andThen(closed, askUnlessToolRuns);
    }
  }
}

function describeTool(item: Fields, type: ToolItem): { name: string; args: unknown } {
  switch (type) {
    case "command_execution":
      return { name: type, args: item.command ?? "" };
    case "mcp_tool_call": {
      const names = [textOf(item.server), textOf(item.tool)].filter((name) => name !== null);
      return { name: names.join(".") || type, args: item.arguments ?? null };
    }
    case "file_change":
      return { name: type, args: item.changes ?? null };
    case "web_search":
      return { name: type, args: item.query ?? "" };
    case "collab_tool_call":
      return { name: textOf(item.tool) ?? type, args: [item.prompt ?? null, item.receiver_thread_ids ?? null] };
  }
}

function resultOf(item: Fields, type: ToolItem): unknown {
  switch (type) {
    case "command_execution":
      return [item.exit_code ?? null, item.aggregated_output ?? null];
    case "mcp_tool_call":
      return item.error ?? item.result ?? null;
    case "file_change":
      return [item.status ?? null, item.changes ?? null];
    case "web_search":
      return item.action ?? null;
    case "collab_tool_call":
      return item.agents_states ?? null;
  }
}

const hasFailed = (item: Fields): boolean =>
  item.status === "failed" ||
  item.status === "declined" ||
  (typeof item.exit_code === "number" && item.exit_code !== 0) ||
  fieldsOf(item.error) !== null;

/** Cached tokens are part of the input and reasoning is part of the output: neither is added again. */
function readCompletedTurn(state: StreamState, usage: Fields | null): Step {
  const spent = (countOf(usage?.input_tokens) ?? 0) + (countOf(usage?.output_tokens) ?? 0);
  const counted = raiseTokens({ ...state, tools: [] }, state.tokens + spent);
  return andThen(counted, (after) => saw(after, turnEnded("success", "turn.completed")));
}

/** An error line with the same message came before, so only a reason to wait is told again. */
function readFailedTurn(state: StreamState, message: string | null, clock: WallClock): Step {
  const refusal = message === null ? null : refusalIn(message);
  if (refusal !== null) return saw({ ...state, tools: [] }, refusal.asks, turnEnded("failure", refusal.reason));
  const failure = message === null ? null : nameFailure(message, "context limit", clock);
  const reason = failure?.kind === "error" ? failure.text : (failure?.pattern ?? "");
  const causes = failure === null || failure.kind === "error" ? [] : [failure];
  const ended = turnEnded("failure", reason === "" ? "turn.failed" : reason);
  return saw({ ...state, tools: [] }, ...causes, ended);
}

function failureIn(message: string | null, clock: WallClock): readonly Sight[] {
  if (message === null) return [];
  const refusal = refusalIn(message);
  if (refusal !== null) return [refusal.asks];
  const failure = nameFailure(message, "error", clock);
  // A reconnection is told as an error, too.
  const again = /^Reconnecting\.{3} (?:(\d{1,4})\/\d|waiting for network)/.exec(message);
  if (failure.kind !== "error" || again === null) return [failure];
  const [, attempt = "1"] = again;
  return [{ kind: "retries", attempt: Number(attempt), inMs: 0, status: statusIn(message), ...causeOfRetry(message) }];
}
