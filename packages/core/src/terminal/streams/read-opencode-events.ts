import type { EpochMs, Sight } from "@rouse/contract";
import type { WallClock } from "../reading.ts";
import { nameOwnFailure } from "./name-failure.ts";
import { amountOf, type Fields, fieldsOf, nameOf, textOf } from "./read-fields.ts";
import { endOpencodeTool, opencodeRefusal, outcomeOf, tokensOf } from "./read-opencode.ts";
import {
  andThen,
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
