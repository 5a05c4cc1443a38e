import type { Sight, StepEvent } from "@rouse/contract";

/** What a holder saw in a stream of JSON, in hooks or in a session file, as the event of a run; `null` for what is no event of its own. */
export function stepOfSight(sight: Sight): StepEvent | null {
  switch (sight.kind) {
    case "tool-started":
      return { kind: "tool_call", id: sight.id, tool: sight.name, args_digest: sight.argsDigest };
    case "tool-ended":
      return endOfTool(sight);
    case "said":
      return {
        kind: "message",
        role: "agent",
        text_digest: sight.digest,
        ...(sight.class === undefined ? {} : { text_class: sight.class }),
      };
    case "retries":
    case "rate-limited":
      return { kind: "error", role: "provider" };
    case "turn-ended":
      // The next turn begins with somebody's word that the stream does not show: replies to it are a new start.
      return { kind: "message", role: "user" };
    case "output":
    case "asks":
    case "asks-no-more":
    case "error":
    case "completed":
    case "context-limit":
    case "file-touched":
    case "session":
    case "model-asked":
    case "tool-goes-on":
    case "nudge-read":
    case "tokens":
    case "compacts":
      return null;
  }
}

/**
 * Whether only the program itself can have told it. On a screen nobody can tell who wrote the words, so what is read off one is no step: a limit that a
 * tool printed would be one of the agent.
 */
export function isOfProgram(sight: Sight): boolean {
  switch (sight.kind) {
    case "session":
    case "model-asked":
    case "said":
    case "tool-started":
    case "tool-goes-on":
    case "tool-ended":
    case "tokens":
    case "compacts":
    case "nudge-read":
    case "turn-ended":
      return true;
    case "rate-limited":
      return sight.by === "stream";
    case "retries":
    case "output":
    case "asks":
    case "asks-no-more":
    case "error":
    case "completed":
    case "context-limit":
    case "file-touched":
      return false;
  }
}

/** What came of a tool whose result could not be read is not known, not even that it went well. */
function endOfTool(sight: Extract<Sight, { kind: "tool-ended" }>): StepEvent {
  const { id, failed, resultDigest, resultClass, cancelled } = sight;
  if (resultDigest === "") return { kind: "tool_result", id };
  return {
    kind: "tool_result",
    id,
    text_digest: resultDigest,
    ...(resultClass === undefined ? {} : { text_class: resultClass }),
    failed,
    ...(cancelled === true ? { cancelled } : {}),
  };
}
