import type { Sight } from "@rouse/contract";
import type { Reading, WallClock } from "../reading.ts";
import { nameTrouble } from "./name-trouble.ts";
import { countOf, digestOfValue, type Fields, fieldsOf, nameOf, textOf } from "./read-fields.ts";
import {
  andThen,
  askUnlessToolRuns,
  closeTool,
  enterSession,
  openTool,
  raiseTokens,
  type StreamState,
  saw,
  say,
} from "./stream-state.ts";

type Step = Reading<StreamState>;

/**
 * One line of `opencode run --format json`. Types it does not know say nothing. A call is told of when it is over, so that one which runs looks like a request to
 * the model.
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
      case "tool_use":
        return readTool(state, part);
      case "step_finish":
        return readFinish(state, part);
      case "error":
        return readError(state, fieldsOf(line.error), clock);
      default:
        return saw(state);
    }
  });
}

function readTool(state: StreamState, part: Fields | null): Step {
  const id = nameOf(part?.callID);
  const call = fieldsOf(part?.state);
  if (id === null || call === null) return saw(state);
  const name = nameOf(part?.tool) ?? "unknown";
  const opened = openTool(state, { id, name, argsDigest: digestOfValue(call.input ?? {}), timeoutSeconds: null });
  const exit = fieldsOf(call.metadata)?.exit;
  const failed = call.status === "error" || (typeof exit === "number" && exit !== 0);
  const closed = andThen(opened, (after) => closeTool(after, id, failed, call.error ?? call.output ?? ""));
  return andThen(closed, askUnlessToolRuns);
}

/** A step that made no calls is the last of its turn. What is read from the cache is no new work. */
function readFinish(state: StreamState, part: Fields | null): Step {
  const tokens = fieldsOf(part?.tokens);
  const cache = fieldsOf(tokens?.cache);
  const spent = [tokens?.input, tokens?.output, tokens?.reasoning, cache?.write].reduce<number>(
    (sum, count) => sum + (countOf(count) ?? 0),
    0,
  );
  const counted = raiseTokens(state, state.tokens + spent);
  const reason = nameOf(part?.reason) ?? "unknown";
  if (reason === "tool-calls") return andThen(counted, (after) => saw(after, { kind: "model-asked" }));
  const outcome = reason === "stop" ? "success" : "failure";
  return andThen(counted, (after) => saw(after, { kind: "turn-ended", outcome, reason }));
}

function readError(state: StreamState, error: Fields | null, clock: WallClock): Step {
  const name = nameOf(error?.name) ?? "error";
  const message = textOf(fieldsOf(error?.data)?.message);
  const causes: readonly Sight[] = message === null ? [] : [nameTrouble(message, name, clock)];
  return saw({ ...state, tools: [] }, ...causes, { kind: "turn-ended", outcome: "failure", reason: name });
}
