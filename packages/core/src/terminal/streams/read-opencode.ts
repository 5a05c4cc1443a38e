import type { Reading } from "../reading.ts";
import { countOf, digestOfValue, type Fields, fieldsOf, nameOf, textOf } from "./read-fields.ts";
import {
  andThen,
  askUnlessToolRuns,
  closeTool,
  countResponse,
  enterSession,
  openTool,
  type StreamState,
  saw,
  say,
} from "./stream-state.ts";

type Step = Reading<StreamState>;

/** One line of `opencode run --format json`. Types it does not know say nothing. */
export function readOpencode(before: StreamState, line: Fields): Step {
  const entered = enterSession(before, nameOf(line.sessionID), null, null);
  return andThen(entered, (state) => readPart(state, line, fieldsOf(line.part)));
}

function readPart(state: StreamState, line: Fields, part: Fields | null): Step {
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
      return endStep(state, part);
    case "error": {
      const reason = nameOf(fieldsOf(line.error)?.name) ?? "error";
      return saw({ ...state, tools: [] }, { kind: "turn-ended", outcome: "failure", reason });
    }
    default:
      return saw(state);
  }
}

/** It is told of a tool when that has ended. */
function readTool(state: StreamState, part: Fields | null): Step {
  const id = nameOf(part?.callID);
  const told = fieldsOf(part?.state);
  if (id === null || told === null) return saw(state);
  const argsDigest = digestOfValue(told.input ?? {});
  const opened = openTool(state, { id, name: nameOf(part?.tool) ?? "unknown", argsDigest, timeoutSeconds: null });
  if (told.status !== "completed" && told.status !== "error") return opened;
  const exit = fieldsOf(told.metadata)?.exit;
  const failed = told.status === "error" || (typeof exit === "number" && exit !== 0);
  const closed = andThen(opened, (after) => closeTool(after, id, failed, told.output ?? told.error ?? ""));
  return andThen(closed, askUnlessToolRuns);
}

function endStep(state: StreamState, part: Fields | null): Step {
  const tokens = fieldsOf(part?.tokens);
  const spent = (countOf(tokens?.input) ?? 0) + (countOf(tokens?.output) ?? 0);
  const counted = countResponse(state, nameOf(part?.messageID) ?? "", spent);
  if (part?.reason !== "stop") return counted;
  return andThen(counted, (after) => saw(after, { kind: "turn-ended", outcome: "success", reason: "stop" }));
}
