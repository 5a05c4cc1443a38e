import type { AgentFamily } from "@rouse/contract";
import type { Reading, WallClock } from "../reading.ts";
import { readClaude } from "./read-claude.ts";
import { readCodex } from "./read-codex.ts";
import { parseLine } from "./read-fields.ts";
import { readGemini } from "./read-gemini.ts";
import { type StreamState, saw } from "./stream-state.ts";

export { type StreamState, startStream } from "./stream-state.ts";

/**
 * One line of an agent's stream, without its end. Whatever is in it, the worst that comes of it is nothing: streams share their
 * terminal with warnings, half lines and whatever else a program prints.
 */
export function readStreamLine(
  family: AgentFamily,
  state: StreamState,
  line: string,
  clock: WallClock,
): Reading<StreamState> {
  const fields = parseLine(line);
  if (fields === null) return saw(state);
  switch (family) {
    case "claude-code":
      return readClaude(state, fields, clock);
    case "codex":
      return readCodex(state, fields, clock);
    case "gemini-cli":
      return readGemini(state, fields, clock);
    case "aider":
    case "generic":
      return saw(state);
  }
}
