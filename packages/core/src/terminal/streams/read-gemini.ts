import type { Sight } from "@rouse/contract";
import type { WallClock } from "../reading.ts";
import { nameFailure, nameOwnFailure, refusalIn } from "./name-failure.ts";
import { amountOf, countOf, type Fields, fieldsOf, listOf, nameOf, textIn, textOf } from "./read-fields.ts";
import {
  andThen,
  askUnlessToolRuns,
  closeTool,
  countResponse,
  enterSession,
  openTool,
  raiseTokens,
  type Step,
  type StreamState,
  saw,
  say,
  turnEnded,
} from "./stream-state.ts";

/** Warnings with which Gemini CLI gives up. The result after them is a "success", and so is its exit status. */
const breaksOff: ReadonlyMap<string, string> = new Map([
  ["Loop detected, stopping execution", "loop detected"],
  ["Maximum session turns exceeded", "maximum turns"],
]);

/** So much of a message in pieces is kept to recognise it. */
const keptOfMessage = 20_000;

/** Reads one line of `gemini -p --output-format stream-json`. Unknown types say nothing. */
export function readGemini(before: StreamState, line: Fields, clock: WallClock): Step {
  if (line.type === "message" && line.delta === true && isAnswer(line)) {
    const saying = (before.saying + (textOf(line.content) ?? "")).slice(0, keptOfMessage);
    return saw({ ...before, saying });
  }
  // A program that goes on has not given up.
  const goesOn = line.type === "message" || line.type === "tool_use";
  return andThen(endMessage(before), (state) =>
    readWholeLine(goesOn ? { ...state, brokenOff: null } : state, line, clock),
  );
}

/** The pieces differ from run to run, so a message is digested when complete: when another line comes. */
const endMessage = (state: StreamState): Step =>
  state.saying === "" ? saw(state) : say({ ...state, saying: "" }, state.saying);

const isAnswer = (line: Fields): boolean => line.role === "assistant" || line.role === "model";

function readWholeLine(state: StreamState, line: Fields, clock: WallClock): Step {
  switch (line.type) {
    case "init": {
      const id = nameOf(line.session_id);
      if (id === null) return saw(state);
      return saw(state, { kind: "session", id, model: nameOf(line.model), version: null });
    }
    case "message":
      return readMessage(state, line);
    case "tool_use":
      return openTool(state, { id: line.tool_id, name: line.tool_name, args: line.parameters ?? {} });
    case "tool_result": {
      const id = nameOf(line.tool_id);
      if (id === null) return saw(state);
      const result = line.output ?? line.error ?? "";
      return andThen(closeTool(state, id, line.status === "error", result), askUnlessToolRuns);
    }
    case "error": {
      const message = textOf(line.message);
      const pattern = line.severity === "warning" ? "warning" : "error";
      if (message === null) return saw(state);
      return saw(
        { ...state, brokenOff: breaksOff.get(message) ?? state.brokenOff },
        refusalIn(message)?.asks ?? nameFailure(message, pattern, clock),
      );
    }
    case "result":
      return readResult(state, line, clock);
    default:
      return saw(state);
  }
}

function readMessage(state: StreamState, line: Fields): Step {
  const text = textOf(line.content);
  if (text === null) return saw(state);
  if (isAnswer(line)) return say(state, text);
  return line.role === "user" ? saw(state, { kind: "model-asked" }) : saw(state);
}

function readResult(state: StreamState, line: Fields, clock: WallClock): Step {
  const stats = fieldsOf(line.stats);
  const sum = (countOf(stats?.input_tokens) ?? 0) + (countOf(stats?.output_tokens) ?? 0);
  const counted = raiseTokens({ ...state, tools: [], brokenOff: null }, countOf(stats?.total_tokens) ?? sum);
  return andThen(counted, (after) => saw(after, ...endingIn(line, state.brokenOff, clock)));
}

function endingIn(line: Fields, brokenOff: string | null, clock: WallClock): readonly Sight[] {
  if (brokenOff !== null) return [turnEnded("failure", brokenOff)];
  if (line.status === "success") return [turnEnded("success", "success")];
  const error = fieldsOf(line.error);
  const message = textOf(error?.message);
  const refusal = message === null ? null : refusalIn(message);
  const failure = refusal?.asks ?? (message === null ? null : nameFailure(message, "result", clock));
  const causes = failure === null || failure.kind === "error" ? [] : [failure];
  const reason = refusal?.reason ?? nameOf(error?.type) ?? "error";
  return [...causes, turnEnded("failure", reason)];
}

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
