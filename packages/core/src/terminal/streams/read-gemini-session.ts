import type { WallClock } from "../reading.ts";
import { nameOwnFailure, refusalIn } from "./name-failure.ts";
import { amountOf, type Fields, fieldsOf, listOf, nameOf, textIn, textOf } from "./read-fields.ts";
import {
  andThen,
  closeTool,
  countResponse,
  enterSession,
  openTool,
  type Step,
  type StreamState,
  saw,
  say,
  turnEnded,
} from "./stream-state.ts";

/**
 * Reads one line of Gemini CLI's session file. Its format is not documented: unknown types say nothing. An answer is
 * written when complete, and again with its calls when those are over. It does not tell whether the model or a tool is
 * at work.
 */
export function readGeminiSession(state: StreamState, line: Fields, clock: WallClock): Step {
  switch (line.type) {
    case undefined:
      return enterSession(state, nameOf(line.sessionId), null, null);
    case "gemini":
      return readAnswer(state, line);
    case "error": {
      const message = textOf(line.content);
      return message === null ? saw(state) : readError(state, message, clock);
    }
    default:
      return saw(state);
  }
}

/** A turn that the provider refuses has ended. */
function readError(state: StreamState, message: string, clock: WallClock): Step {
  const refusal = refusalIn(message);
  if (refusal === null) return saw(state, nameOwnFailure(message, "error", clock));
  return saw(state, refusal.asks, turnEnded("failure", refusal.reason));
}

function readAnswer(state: StreamState, line: Fields): Step {
  const id = nameOf(line.id);
  if (id === null) return saw(state);
  const text = state.answer === id ? null : textOf(line.content);
  const said = text === null ? saw({ ...state, answer: id }) : say({ ...state, answer: id }, text);
  const counted = andThen(said, (after) => countResponse(after, id, tokensOf(fieldsOf(line.tokens))));
  const calls = listOf(line.toolCalls).slice(0, mostCalls).map(fieldsOf);
  return calls.reduce((step, call) => andThen(step, (after) => readCall(after, call)), counted);
}

const mostCalls = 64;

/** Cache reads are no new work. */
const tokensOf = (tokens: Fields | null): number =>
  Math.max(0, (amountOf(tokens?.total) ?? 0) - (amountOf(tokens?.cached) ?? 0));

/** Each command runs in another process group. */
const ownNumber = /^Process Group PGID: \d+$/gm;

function readCall(state: StreamState, call: Fields | null): Step {
  const id = nameOf(call?.id);
  if (call === null || id === null) return saw(state);
  const response = listOf(call.result).map((each) => fieldsOf(fieldsOf(each)?.functionResponse)?.response ?? null);
  const result = textIn(response).replace(ownNumber, "");
  const failed = call.status === "error" || /^Exit Code: [1-9]/m.test(result);
  const opened = openTool(state, { id: call.id, name: call.name, args: call.args ?? {} });
  return andThen(opened, (after) => closeTool(after, id, failed, result));
}
