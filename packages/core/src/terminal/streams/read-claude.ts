import { days, type Sight, seconds } from "@rouse/contract";
import type { WallClock } from "../reading.ts";
import { nameFailure, needOf } from "./name-failure.ts";
import { amountOf, countOf, type Fields, fieldsOf, listOf, nameOf, textOf } from "./read-fields.ts";
import {
  andThen,
  askUnlessToolRuns,
  closeTool,
  countResponse,
  openTool,
  raiseTokens,
  type Step,
  type StreamState,
  saw,
  say,
  turnEnded,
} from "./stream-state.ts";

/** Weekly limits are the longest; a longer wait was misread and would silence the monitor. */
const longestWait = days(8);

/** Reads one line of `claude -p --output-format stream-json`. Unknown types say nothing. */
export function readClaude(state: StreamState, line: Fields, clock: WallClock): Step {
  const parent = nameOf(line.parent_tool_use_id);
  if (parent !== null) return readSubagent(state, line, parent);
  switch (line.type) {
    case "system":
      return readSystem(state, line);
    case "assistant":
      return readAssistant(state, line, clock);
    case "user":
      return readUser(state, line);
    case "tool_progress": {
      const id = nameOf(line.tool_use_id);
      const going: Sight[] = id === null ? [] : [{ kind: "tool-goes-on", id }];
      return saw(state, ...going, ...retryIn(line.subagent_retry));
    }
    case "rate_limit_event":
      return saw(state, ...rateLimitIn(fieldsOf(line.rate_limit_info), clock));
    case "result":
      return readResult(state, line, clock);
    default:
      return saw(state);
  }
}

/** To the main agent a sub-agent is a tool that runs: whatever it does is life, and its tokens count. */
function readSubagent(state: StreamState, line: Fields, parent: string): Step {
  // Pieces of text come by the hundred; the whole message follows.
  if (line.type === "stream_event") return saw(state);
  const going = saw(state, { kind: "tool-goes-on", id: parent }, ...retryIn(line.subagent_retry));
  return line.type === "assistant" ? andThen(going, (after) => countUsage(after, line)) : going;
}

function readSystem(state: StreamState, line: Fields): Step {
  switch (line.subtype) {
    case "init": {
      const id = nameOf(line.session_id);
      if (id === null) return saw(state);
      const session: Sight = {
        kind: "session",
        id,
        model: nameOf(line.model),
        version: nameOf(line.claude_code_version),
      };
      // Printed once the prompt is in, so the first request is on its way.
      return saw(state, session, { kind: "model-asked" });
    }
    case "api_retry":
      return saw(state, ...retryIn(line));
    case "status":
      return readCompacting(state, line.status === "compacting");
    case "compact_boundary":
      return saw({ ...state, compacting: false }, { kind: "compacts", over: true });
    default:
      return saw(state);
  }
}

/** A failed compaction leaves no boundary: it is over when the status changes. */
const readCompacting = (state: StreamState, compacting: boolean): Step =>
  compacting === state.compacting ? saw(state) : saw({ ...state, compacting }, { kind: "compacts", over: !compacting });

export function readAssistant(before: StreamState, line: Fields, clock: WallClock): Step {
  const message = fieldsOf(line.message);
  let step = beginAnswer(before, nameOf(message?.id));
  for (const block of isByProgram(line) ? [] : listOf(message?.content).slice(0, 64)) {
    step = andThen(step, (state) => readBlock(state, fieldsOf(block)));
  }
  step = andThen(step, (state) => countUsage(state, line));
  return andThen(step, (state) => saw(state, ...failureIn(line, message?.stop_reason, clock)));
}

/** Claude Code writes a provider's refusal as an answer of a model that does not exist. */
export const isByProgram = (line: Fields): boolean =>
  line.is_api_error_message === true ||
  line.isApiErrorMessage === true ||
  fieldsOf(line.message)?.model === "<synthetic>";

/**
 * The model is asked only after every tool has ended, so tools that are still open when it answers ended in lines that
 * could not be read (a picture of many megabytes). Their results are unknown.
 */
function beginAnswer(state: StreamState, id: string | null): Step {
  if (id === null || id === state.answer) return saw(state);
  let step = saw({ ...state, answer: id });
  for (const tool of state.tools) step = andThen(step, (after) => closeTool(after, tool, false, undefined));
  return step;
}

function readBlock(state: StreamState, block: Fields | null): Step {
  if (block?.type === "text") {
    const text = textOf(block.text);
    return text === null ? saw(state) : say(state, text);
  }
  if (block?.type !== "tool_use") return saw(state);
  const { id, name, input } = block;
  return openTool(state, { id, name, args: input ?? {} }, timeoutOf(name, fieldsOf(input)));
}

/** A week at most: an open tool holds off judgement, and the agent names the time. */
export function timeoutOf(tool: unknown, input: Fields | null): number | null {
  const ms = tool === "Bash" ? amountOf(input?.timeout) : null;
  return ms === null ? null : Math.min(ms / 1000, 604_800);
}

function failureIn(line: Fields, stopReason: unknown, clock: WallClock): readonly Sight[] {
  if (stopReason === "model_context_window_exceeded") return [{ kind: "context-limit", pattern: stopReason }];
  // An overload is called a server error here; its status tells.
  const name = line.api_error_status === 529 ? "overloaded" : nameOf(line.error);
  if (name === null) return [];
  const need = needOf(name);
  if (need !== null) return [need];
  if (name === "rate_limit" || name === "overloaded")
    return [{ kind: "rate-limited", pattern: name, resetsInMs: null, by: "stream" }];
  return [nameFailure(name, "assistant error", clock)];
}

export function readUser(before: StreamState, line: Fields): Step {
  const results = listOf(fieldsOf(line.message)?.content)
    .slice(0, 64)
    .map(fieldsOf)
    .filter((block) => block?.type === "tool_result");
  let step = saw(before);
  for (const result of results) {
    const id = nameOf(result?.tool_use_id);
    if (id === null) continue;
    const failed = result?.is_error === true;
    step = andThen(step, (state) => closeTool(state, id, failed, result?.content ?? ""));
  }
  return step.sights.length > 0 ? andThen(step, askUnlessToolRuns) : step;
}

export function retryIn(value: unknown): readonly Sight[] {
  const retry = fieldsOf(value);
  const attempt = countOf(retry?.attempt);
  if (attempt === null) return [];
  const status = countOf(retry?.error_status);
  const need = needOf(status);
  // Retries do not help a program that is refused.
  if (need !== null) return [need];
  const inMs = Math.min(amountOf(retry?.retry_delay_ms) ?? 0, longestWait);
  return [{ kind: "retries", attempt, inMs, status }];
}

/** Warnings and the all-clear come in the same lines; only a refusal is a wait, unless extra usage is paid for. */
export function rateLimitIn(info: Fields | null, clock: WallClock): readonly Sight[] {
  if (info?.status !== "rejected" || info.isUsingOverage === true) return [];
  const resetsAt = amountOf(info.resetsAt);
  const wait = resetsAt === null ? null : Math.max(0, seconds(resetsAt) - clock.now);
  const resetsInMs = wait === null || wait > longestWait ? null : wait;
  return [{ kind: "rate-limited", pattern: "rate_limit_event", resetsInMs, by: "stream" }];
}

function readResult(state: StreamState, line: Fields, clock: WallClock): Step {
  const subtype = nameOf(line.subtype) ?? "unknown";
  const status = countOf(line.api_error_status);
  const failed = line.is_error === true || subtype !== "success" || status !== null;
  const over = { ...state, tools: [], answer: null, compacting: false };
  const counted = countWholeRun(over, line);
  const need = failed ? needOf(status) : null;
  const causes = need !== null ? [need] : failed ? causesIn(line, status, clock) : [];
  // A refused request ends as a "success" that is an error.
  const why = [nameOf(line.terminal_reason) ?? "is_error", ...(status === null ? [] : [status])].join(" ");
  const reason = failed && subtype === "success" ? why : subtype;
  return andThen(counted, (after) => saw(after, ...causes, turnEnded(failed ? "failure" : "success", reason)));
}

function causesIn(line: Fields, status: number | null, clock: WallClock): readonly Sight[] {
  const texts = [line.result, ...listOf(line.errors).slice(0, 16)].map(textOf).filter((text) => text !== null);
  const causes = texts.map((text) => nameFailure(text, "result", clock)).filter(({ kind }) => kind !== "error");
  const what = status === 529 ? "overloaded" : status === 429 ? "rate" : null;
  if (what === null || causes.some(({ kind }) => kind === "context-limit")) return causes.slice(0, 1);
  const named = causes.find((cause) => cause.kind === "rate-limited");
  const limit: Sight = {
    kind: "rate-limited",
    pattern: `api ${status}`,
    resetsInMs: null,
    what,
    ...named,
    by: "stream",
  };
  return [limit];
}

/** Without an id a repeated line looks new; the result line has the sum. */
export function countUsage(state: StreamState, line: Fields): Step {
  const message = fieldsOf(line.message);
  const id = nameOf(message?.id) ?? nameOf(line.requestId);
  return id === null ? saw(state) : countResponse(state, id, spent(fieldsOf(message?.usage)));
}

/**
 * The new tokens of a request. Cache reads are left out: every request reads the whole conversation at a tenth of the
 * price, so they would show its length times its requests, not what was spent.
 */
function spent(usage: Fields | null): number {
  const parts = ["input_tokens", "output_tokens", "cache_creation_input_tokens"];
  return parts.reduce((sum, part) => sum + (countOf(usage?.[part]) ?? 0), 0);
}

/** A result has the sum of its requests and corrects what lines before it left out. */
const countWholeRun = (state: StreamState, result: Fields): Step =>
  raiseTokens(state, Math.max(spent(fieldsOf(result.usage)), spentByModels(result.modelUsage)));

/** The tokens of all models, sub-agents included; the plain usage leaves those out. */
function spentByModels(value: unknown): number {
  const parts = ["inputTokens", "outputTokens", "cacheCreationInputTokens"];
  const models = Object.values(fieldsOf(value) ?? {}).map(fieldsOf);
  return models.flatMap((usage) => parts.map((part) => countOf(usage?.[part]) ?? 0)).reduce((a, b) => a + b, 0);
}
