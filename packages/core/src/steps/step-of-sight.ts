import type { Sight, StepEvent } from "@rouse/contract";

/** A sight of a stream, a hook or a session file as the event of a run; `null` for what is no event of its own. */
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
      // The next turn begins with a message that the stream does not show: replies to it are a new start.
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
 * Whether only the program itself can have told it. On a screen the writer is unknown, so nothing read there is a step:
 * a limit that a tool printed would count as the agent's.
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

/** The outcome of a tool whose result could not be read is unknown. */
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
