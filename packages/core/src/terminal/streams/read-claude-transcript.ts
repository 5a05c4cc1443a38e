import type { Sight } from "@rouse/contract";
import type { Reading, WallClock } from "../reading.ts";
import { countUsage } from "./count-claude-tokens.ts";
import { nameOwnTrouble } from "./name-trouble.ts";
import { isByProgram, needOf, rateLimitIn, readAssistant, readUser, retryIn } from "./read-claude.ts";
import { type Fields, fieldsOf, listOf, nameOf, textIn, textOf } from "./read-fields.ts";
import { andThen, enterSession, type StreamState, saw } from "./stream-state.ts";

type Step = Reading<StreamState>;

/** One line of the file Claude Code keeps of a conversation. Its format is not promised to anybody: types it does not know say nothing. */
export function readClaudeTranscript(before: StreamState, line: Fields, clock: WallClock): Step {
  switch (line.type) {
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
  // Sub-agents spend tokens all the same; what they do is life of the tool that started them.
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

/** Words of a person begin a turn. What a command of the program printed is kept in the same place and begins none. */
function readPromptOrResults(state: StreamState, line: Fields): Step {
  const content = fieldsOf(line.message)?.content;
  const hasResults = listOf(content).some((block) => fieldsOf(block)?.type === "tool_result");
  if (hasResults) return readUser(state, line);
  const isPrompt = line.isMeta !== true && line.isCompactSummary !== true && line.promptSource !== undefined;
  return isPrompt ? saw({ ...state, tools: [] }, { kind: "model-asked" }) : saw(state);
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
  const ended: Sight = { kind: "turn-ended", outcome: "failure", reason: error ?? "api error" };
  const trouble = limits.length > 0 ? limits : [needOf(error) ?? nameOwnTrouble(text, error ?? "api error", clock)];
  return saw({ ...state, tools: [] }, ...trouble, ended);
}

/** The program itself says so, in a place where no agent can write. */
export const byProgram = <S extends Sight>(sight: S): S =>
  sight.kind === "rate-limited" ? { ...sight, by: "stream" } : sight;

function readSystem(state: StreamState, line: Fields): Step {
  switch (line.subtype) {
    case "turn_duration":
      return saw({ ...state, tools: [] }, { kind: "turn-ended", outcome: "success", reason: "turn_duration" });
    case "api_error":
      return saw(state, ...retryIn(retryOf(line)));
    case "compact_boundary":
      return saw(state, { kind: "compacts", over: true });
    default:
      return saw(state);
  }
}

const retryOf = (line: Fields): Fields => ({
  attempt: line.retryAttempt,
  retry_delay_ms: line.retryInMs,
  error_status: fieldsOf(line.error)?.status,
});
