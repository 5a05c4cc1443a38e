import type { EpochMs, Sight } from "@rouse/contract";
import type { WallClock } from "../reading.ts";
import { nameFailure, nameOwnFailure, type Refusal, refusalIn } from "./name-failure.ts";
import { amountOf, countOf, type Fields, fieldsOf, nameOf, textOf } from "./read-fields.ts";
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

/**
 * Reads one line of `opencode run --format json`. Unknown types say nothing. A call is told when it is over, so a
 * running call looks like a request to the model.
 */
export function readOpencode(before: StreamState, line: Fields, clock: WallClock): Step {
  const part = fieldsOf(line.part);
  return andThen(enterSession(before, nameOf(line.sessionID), null, null), (state) => {
    switch (line.type) {
      case "step_start":
        return saw(state, { kind: "model-asked" });
      case "text": {
        const text = textOf(part?.text);
        return text === null ? saw(state) : say(state, text);
      }
      case "tool_use": {
        const ended = endOpencodeTool(state, part);
        return ended.sights.length === 0 ? ended : andThen(ended, askUnlessToolRuns);
      }
      case "step_finish":
        return readFinish(state, part);
      case "error":
        return readError(state, fieldsOf(line.error), clock);
      default:
        return saw(state);
    }
  });
}

/** Ends a call, and begins it first where nobody told that it began. */
function endOpencodeTool(state: StreamState, part: Fields | null): Step {
  const id = nameOf(part?.callID);
  const call = fieldsOf(part?.state);
  if (id === null || call === null) return saw(state);
  const opened = openTool(state, { id: part?.callID, name: part?.tool, args: call.input ?? {} });
  const exit = fieldsOf(call.metadata)?.exit;
  const failed = call.status === "error" || (typeof exit === "number" && exit !== 0);
  return andThen(opened, (after) => closeTool(after, id, failed, call.error ?? call.output ?? ""));
}

/** Cache reads are no new work. */
function tokensOf(value: unknown): number {
  const tokens = fieldsOf(value);
  const spent = [tokens?.input, tokens?.output, tokens?.reasoning, fieldsOf(tokens?.cache)?.write];
  return spent.reduce<number>((sum, count) => sum + (countOf(count) ?? 0), 0);
}

const outcomeOf = (reason: string): "success" | "failure" => (reason === "stop" ? "success" : "failure");

/** A step without calls is the last of its turn. */
function readFinish(state: StreamState, part: Fields | null): Step {
  const counted = raiseTokens(state, state.tokens + tokensOf(part?.tokens));
  const reason = nameOf(part?.reason) ?? "unknown";
  if (reason === "tool-calls") return andThen(counted, (after) => saw(after, { kind: "model-asked" }));
  return andThen(counted, (after) => saw(after, turnEnded(outcomeOf(reason), reason)));
}

function readError(state: StreamState, error: Fields | null, clock: WallClock): Step {
  const name = nameOf(error?.name) ?? "error";
  const message = textOf(fieldsOf(error?.data)?.message);
  const refusal = opencodeRefusal(error);
  const failure = refusal?.asks ?? (message === null ? null : nameFailure(message, name, clock));
  const ended = turnEnded("failure", refusal?.reason ?? name);
  return saw({ ...state, tools: [] }, ...(failure === null ? [] : [failure]), ended);
}

/** `{"name":"APIError","data":{"message":"invalid x-api-key","statusCode":401,…}}`. */
function opencodeRefusal(error: Fields | null): Refusal | null {
  const data = fieldsOf(error?.data);
  return refusalIn(textOf(data?.message) ?? "", countOf(data?.statusCode) ?? undefined);
}

/**
 * Reads one event of opencode's conversation log in its database, as `{ type, data }`. Its format is not documented:
 * unknown types say nothing. Unlike the stream it tells when a call begins.
 */
export function readOpencodeEvent(state: StreamState, event: Fields, clock: WallClock): Step {
  const data = fieldsOf(event.data);
  const info = fieldsOf(data?.info);
  switch (kindOf(event)) {
    case "session.created":
      return enterSession(state, nameOf(info?.id), nameOf(fieldsOf(info?.model)?.id), nameOf(info?.version));
    case "message.updated":
      return andThen(enterSession(state, nameOf(data?.sessionID), null, null), (after) =>
        info?.role === "assistant" ? readAnswer(after, info, clock) : saw(after),
      );
    case "message.part.updated":
      return readPart(state, fieldsOf(data?.part), clock);
    default:
      return saw(state);
  }
}

/** Types end with a version. */
const kindOf = ({ type }: Fields): string => (nameOf(type) ?? "").replace(/\.\d+$/, "");

/** When the event happened; `null` where it does not say. */
export function timeOfOpencodeEvent(event: Fields): EpochMs | null {
  const data = fieldsOf(event.data);
  const time = fieldsOf(fieldsOf(data?.info)?.time);
  return amountOf(data?.time) ?? amountOf(time?.completed) ?? amountOf(time?.created);
}

/** Each request has its own answer, which exists from the request on and is completed once. */
function readAnswer(state: StreamState, info: Fields, clock: WallClock): Step {
  const id = nameOf(info.id);
  if (id === null) return saw(state);
  if (amountOf(fieldsOf(info.time)?.completed) === null)
    return state.answer === id ? saw(state) : saw({ ...state, answer: id, tools: [] }, { kind: "model-asked" });
  if (state.answer !== id) return saw(state);
  const counted = countResponse({ ...state, answer: null, compacting: false }, id, tokensOf(info.tokens));
  return andThen(counted, (after) => endAnswer(after, info, clock));
}

function endAnswer(state: StreamState, info: Fields, clock: WallClock): Step {
  // A summary is for the model itself: the turn goes on.
  if (info.summary === true && info.error === undefined) return saw(state, { kind: "compacts", over: true });
  const error = fieldsOf(info.error);
  if (error !== null) {
    const reason = opencodeRefusal(error)?.reason ?? nameOf(error.name) ?? "error";
    return saw({ ...state, tools: [] }, ...failureIn(error, clock), turnEnded("failure", reason));
  }
  const reason = nameOf(info.finish);
  if (reason === null || reason === "tool-calls") return saw(state);
  return saw(state, turnEnded(outcomeOf(reason), reason));
}

/** A person's interruption is no failure. */
function failureIn(error: Fields | null, clock: WallClock): readonly Sight[] {
  const refusal = opencodeRefusal(error);
  if (refusal !== null) return [refusal.asks];
  const message = textOf(fieldsOf(error?.data)?.message);
  const name = nameOf(error?.name) ?? "error";
  return message === null || name === "MessageAbortedError" ? [] : [nameOwnFailure(message, name, clock)];
}

function readPart(state: StreamState, part: Fields | null, clock: WallClock): Step {
  switch (part?.type) {
    case "text": {
      const text = textOf(part.text);
      // A person's text has the same shape, in another message.
      const isSaid = part.messageID === state.answer && !state.compacting;
      const isWhole = amountOf(fieldsOf(part.time)?.end) !== null;
      return text === null || !isSaid || !isWhole ? saw(state) : say(state, text);
    }
    case "tool":
      return readTool(state, part);
    case "retry":
      return saw(state, ...failureIn(fieldsOf(part.error), clock));
    case "compaction": {
      const full: readonly Sight[] = part.overflow === true ? [{ kind: "context-limit", pattern: "compaction" }] : [];
      return saw({ ...state, compacting: true }, ...full, { kind: "compacts", over: false });
    }
    default:
      return saw(state);
  }
}

function readTool(state: StreamState, part: Fields): Step {
  const call = fieldsOf(part.state);
  switch (call?.status) {
    case "running":
      return openTool(state, { id: part.callID, name: part.tool, args: call.input ?? {} });
    case "completed":
    case "error":
      return endOpencodeTool(state, part);
    default:
      // The arguments are not known yet.
      return saw(state);
  }
}
