import type { WallClock } from "../reading.ts";
import { nameOwnFailure, needOf } from "./name-failure.ts";
import { countUsage, isByProgram, rateLimitIn, readAssistant, readUser, retryIn } from "./read-claude.ts";
import { type Fields, fieldsOf, listOf, nameOf, textIn, textOf } from "./read-fields.ts";
import { andThen, enterSession, type Step, type StreamState, saw, turnEnded } from "./stream-state.ts";

/** Reads one line of Claude Code's session file. Its format is not documented: unknown types say nothing. */
export function readClaudeTranscript(before: StreamState, line: Fields, clock: WallClock): Step {
  switch (line.type) {
    case "queue-operation":
      return saw(endLeft(before, line.content));
    case "user":
    case "assistant":
    case "system": {
      const model = nameOf(fieldsOf(line.message)?.model);
      const entered = enterSession(before, nameOf(line.sessionId), model, nameOf(line.version));
      return andThen(entered, (state) => readLine(state, line, clock));
    }
    default:
      return saw(before);
  }
}

function readLine(state: StreamState, line: Fields, clock: WallClock): Step {
  // Sub-agents spend tokens, too; their work is life of the tool that started them.
  if (line.isSidechain === true) return line.type === "assistant" ? countUsage(state, line) : saw(state);
  switch (line.type) {
    case "user":
      return readPromptOrResults(state, line);
    case "assistant":
      return isByProgram(line) ? readFailure(state, line, clock) : readAssistant(state, line, clock);
    default:
      return readSystem(state, line);
  }
}

/** A person's message begins a turn. Output of the program's own commands is in the same place and begins none. */
function readPromptOrResults(state: StreamState, line: Fields): Step {
  const content = fieldsOf(line.message)?.content;
  const hasResults = listOf(content).some((block) => fieldsOf(block)?.type === "tool_result");
  if (hasResults) return readUser(noteLeft(state, fieldsOf(line.toolUseResult)), line);
  const isPrompt = line.isMeta !== true && line.isCompactSummary !== true && line.promptSource !== undefined;
  return isPrompt ? saw({ ...endLeft(state, content), tools: [] }, { kind: "model-asked" }) : saw(state);
}

const mostLeft = 64;

/**
 * Notes a command or sub-agent that goes on in the background, or was ended. Only the program's own fields are read.
 */
function noteLeft(state: StreamState, result: Fields | null): StreamState {
  const agent = result?.status === "async_launched" ? nameOf(result.agentId) : null;
  const begun = nameOf(result?.backgroundTaskId) ?? agent;
  if (begun !== null) return { ...state, left: [...state.left, begun].slice(-mostLeft) };
  const stopped = nameOf(result?.task_id);
  return stopped === null ? state : { ...state, left: state.left.filter((id) => id !== stopped) };
}

/** The program tells that background work is over. */
function endLeft(state: StreamState, content: unknown): StreamState {
  const told = state.left.length === 0 ? null : textOf(content);
  if (told === null || !told.startsWith("<task-notification>")) return state;
  return { ...state, left: state.left.filter((id) => !told.includes(`<task-id>${id}</task-id>`)) };
}

function readFailure(state: StreamState, line: Fields, clock: WallClock): Step {
  const text = textIn(
    listOf(fieldsOf(line.message)?.content)
      .slice(0, 8)
      .map((block) => textOf(fieldsOf(block)?.text) ?? ""),
  );
  const error = nameOf(line.apiError) ?? nameOf(line.error);
  // Somebody interrupted it, or it had nothing to say.
  if (error === null && line.isApiErrorMessage !== true) return saw(state);
  const limits = rateLimitIn(fieldsOf(fieldsOf(line.apiErrorParams)?.rate_limit_info), clock);
  const ended = turnEnded("failure", error ?? "api error");
  const failure = limits.length > 0 ? limits : [needOf(error) ?? nameOwnFailure(text, error ?? "api error", clock)];
  return saw({ ...state, tools: [] }, ...failure, ended);
}

function readSystem(state: StreamState, line: Fields): Step {
  switch (line.subtype) {
    case "turn_duration":
      return saw({ ...state, tools: [] }, { ...turnEnded("success", "turn_duration"), ...waker(state) });
    case "api_error":
      return saw(state, ...retryIn(retryOf(line)));
    case "compact_boundary":
      return saw(state, { kind: "compacts", over: true });
    default:
      return saw(state);
  }
}

const waker = ({ left }: StreamState): { readonly wokenBy?: "children" } =>
  left.length > 0 ? { wokenBy: "children" } : {};

const retryOf = (line: Fields): Fields => ({
  attempt: line.retryAttempt,
  retry_delay_ms: line.retryInMs,
  error_status: fieldsOf(line.error)?.status,
});
