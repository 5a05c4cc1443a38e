import { days, type EpochMs, type Sight, seconds } from "@rouse/contract";
import type { WallClock } from "../reading.ts";
import { nameOwnFailure, type Refusal, refusalIn } from "./name-failure.ts";
import { amountOf, countOf, type Fields, fieldsOf, listOf, nameOf, parseLine, textOf } from "./read-fields.ts";
import {
  andThen,
  askUnlessToolRuns,
  closeOpenTool,
  enterSession,
  openTool,
  raiseTokens,
  type Step,
  type StreamState,
  saw,
  say,
  turnEnded,
} from "./stream-state.ts";

/** Reads one line of Codex's session file. Its format is not documented: unknown types say nothing. */
export function readCodexRollout(state: StreamState, line: Fields, clock: WallClock): Step {
  const payload = fieldsOf(line.payload);
  if (payload === null) return saw(state);
  switch (line.type) {
    case "session_meta":
      return enterSession(state, nameOf(payload.id), null, nameOf(payload.cli_version));
    case "response_item":
      return readItem(state, payload);
    case "event_msg":
      return readEvent(state, payload, clock);
    case "compacted":
      return saw(state, { kind: "compacts", over: true });
    default:
      return saw(state);
  }
}

function readItem(state: StreamState, item: Fields): Step {
  switch (item.type) {
    case "function_call":
    case "custom_tool_call":
    case "local_shell_call": {
      const args = parsedOf(item.arguments) ?? item.input ?? item.action ?? null;
      return openTool(state, { id: item.call_id, name: textOf(item.name) ?? item.type, args });
    }
    case "function_call_output":
    case "custom_tool_call_output":
      return readOutput(state, item);
    case "message":
      return item.role === "assistant" ? sayAll(state, item.content) : saw(state);
    default:
      return saw(state);
  }
}

const parsedOf = (value: unknown): unknown => (typeof value === "string" ? (parseLine(value) ?? value) : null);

function sayAll(state: StreamState, content: unknown): Step {
  const texts = listOf(content)
    .slice(0, 64)
    .map((block) => textOf(fieldsOf(block)?.text))
    .filter((text) => text !== null);
  return texts.length === 0 ? saw(state) : say(state, texts.join("\n"));
}

/** A command's output begins with an id and a time that differ each time. */
const heading = /^(?:Chunk ID|Wall time): [^\n]{0,200}\n/gm;

/** Ends a tool. Commands were ended by an item of their own before. */
function readOutput(state: StreamState, item: Fields): Step {
  const output = textOf(item.output) ?? textOf(fieldsOf(item.output)?.content) ?? "";
  const failed = /^Process exited with code [1-9]/m.test(output.slice(0, 2000)) || item.success === false;
  return endTool(state, item.call_id, failed, output.replace(heading, ""));
}

function endTool(state: StreamState, value: unknown, failed: boolean, result: unknown): Step {
  const closed = closeOpenTool(state, value, failed, result);
  return closed.sights.length === 0 ? closed : andThen(closed, askUnlessToolRuns);
}

function readEvent(state: StreamState, event: Fields, clock: WallClock): Step {
  switch (event.type) {
    case "task_started":
      return saw({ ...state, tools: [], turn: nameOf(event.turn_id) }, { kind: "model-asked" });
    case "item_completed":
      return readCompleted(state, fieldsOf(event.item));
    case "token_count":
      return countTokens(
        { ...state, resetsAt: resetIn(fieldsOf(event.rate_limits)) },
        fieldsOf(fieldsOf(event.info)?.total_token_usage),
      );
    case "error":
      return saw(state, ...failureIn(event, state.resetsAt, clock));
    case "stream_error":
      return saw(state, { kind: "retries", attempt: 1, inMs: 0, status: null });
    case "task_complete":
    case "turn_aborted":
      return endTurn(state, event, clock);
    default:
      return saw(state);
  }
}

function readCompleted(state: StreamState, item: Fields | null): Step {
  if (item?.type !== "CommandExecution") return saw(state);
  const failed = item.status === "failed" || (typeof item.exit_code === "number" && item.exit_code !== 0);
  return endTool(state, item.id, failed, [item.exit_code ?? null, item.aggregated_output ?? null]);
}

/** Cached tokens are part of the input and reasoning is part of the output, as in its stream. */
const countTokens = (state: StreamState, usage: Fields | null): Step =>
  raiseTokens(state, (countOf(usage?.input_tokens) ?? 0) + (countOf(usage?.output_tokens) ?? 0));

/** Each window of the quota has its own reset. Of those at 100 % the last one decides. */
function resetIn(limits: Fields | null): EpochMs | null {
  const resets = [limits?.primary, limits?.secondary].flatMap((value) => {
    const window = fieldsOf(value);
    const resetsAt = amountOf(window?.resets_at);
    return resetsAt !== null && (amountOf(window?.used_percent) ?? 0) >= 100 ? [seconds(resetsAt)] : [];
  });
  return resets.length === 0 ? null : Math.max(...resets);
}

/** The message names the minute of a reset; an earlier field names the second. */
function failureIn(error: Fields, resetsAt: EpochMs | null, clock: WallClock): readonly Sight[] {
  const message = textOf(error.message);
  if (message === null) return [];
  const refusal = refusalOf(error);
  if (refusal !== null) return [refusal.asks];
  const info = nameOf(error.codex_error_info);
  const failure = nameOwnFailure(message, info ?? "error", clock);
  const isExact = failure.kind === "rate-limited" && info === "usage_limit_exceeded" && resetsAt !== null;
  const resetsInMs = (resetsAt ?? 0) - clock.now;
  return isExact && resetsInMs >= 0 && resetsInMs <= longestWait
    ? [{ ...failure, resetsInMs, withinMs: 0 }]
    : [failure];
}

/** A failure is a name, or a name with a status: `{"http_connection_failed":{"http_status_code":401}}`. */
function failureOf(error: Fields | null): { readonly name: string | null; readonly status: number | null } {
  const info = error?.codex_error_info;
  const [[name, detail] = [null, null]] = Object.entries(fieldsOf(info) ?? {});
  return { name: nameOf(info) ?? nameOf(name), status: countOf(fieldsOf(detail)?.http_status_code) };
}

function nameOfFailure(error: Fields | null): string | null {
  const { name, status } = failureOf(error);
  return name === null || status === null ? name : `${name} ${status}`;
}

function refusalOf(error: Fields): Refusal | null {
  const { name, status } = failureOf(error);
  return refusalIn(textOf(error.message) ?? "", status ?? (name === "unauthorized" ? 401 : undefined));
}

/** Weekly limits are the longest. */
const longestWait = days(8);

/** A failed turn is complete as well, with its error. */
function endTurn(state: StreamState, event: Fields, clock: WallClock): Step {
  const error = fieldsOf(event.error);
  const failed = event.type === "turn_aborted" || error !== null;
  const refusal = error === null ? null : refusalOf(error);
  const failure = refusal?.reason ?? nameOfFailure(error);
  const reason = failure ?? nameOf(event.reason) ?? nameOf(event.type) ?? "unknown";
  const causes = error === null ? [] : failureIn(error, state.resetsAt, clock).filter(({ kind }) => kind !== "error");
  const ended = turnEnded(failed ? "failure" : "success", reason);
  return saw({ ...state, tools: [], turn: null }, ...causes, ended);
}
