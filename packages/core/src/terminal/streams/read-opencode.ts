import type { WallClock } from "../reading.ts";
import { nameFailure, type Refusal, refusalIn } from "./name-failure.ts";
import { countOf, type Fields, fieldsOf, nameOf, textOf } from "./read-fields.ts";
import {
  andThen,
  askUnlessToolRuns,
  closeTool,
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
export function endOpencodeTool(state: StreamState, part: Fields | null): Step {
  const id = nameOf(part?.callID);
  const call = fieldsOf(part?.state);
  if (id === null || call === null) return saw(state);
  const opened = openTool(state, { id: part?.callID, name: part?.tool, args: call.input ?? {} });
  const exit = fieldsOf(call.metadata)?.exit;
  const failed = call.status === "error" || (typeof exit === "number" && exit !== 0);
  return andThen(opened, (after) => closeTool(after, id, failed, call.error ?? call.output ?? ""));
}

/** Cache reads are no new work. */
export function tokensOf(value: unknown): number {
  const tokens = fieldsOf(value);
  const spent = [tokens?.input, tokens?.output, tokens?.reasoning, fieldsOf(tokens?.cache)?.write];
  return spent.reduce<number>((sum, count) => sum + (countOf(count) ?? 0), 0);
}

export const outcomeOf = (reason: string): "success" | "failure" => (reason === "stop" ? "success" : "failure");

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
export function opencodeRefusal(error: Fields | null): Refusal | null {
  const data = fieldsOf(error?.data);
  return refusalIn(textOf(data?.message) ?? "", countOf(data?.statusCode) ?? undefined);
}
