import type { AgentFamily, Sight } from "@rouse/contract";
import type { Pattern, Reading, WallClock } from "../reading.ts";
import { readClaude } from "./read-claude.ts";
import { readCodex } from "./read-codex.ts";
import { type Fields, parseLine } from "./read-fields.ts";
import { readGemini } from "./read-gemini.ts";
import { readOpencode } from "./read-opencode.ts";
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
  return fields === null ? saw(state) : withoutOldEnding(readFields(family, state, fields, clock));
}

/** Only what the agent said last can end its turn. */
export function withoutOldEnding({ state, sights }: Reading<StreamState>): Reading<StreamState> {
  const last = sights.findLast(({ kind }) => kind === "said" || kind === "tool-started" || kind === "model-asked");
  return last === undefined || last.kind === "said" ? { state, sights } : saw({ ...state, ending: null }, ...sights);
}

/** Its turn is over and its last words were the marker: it says that it is done. */
export function findCompletion(
  { state, sights }: Reading<StreamState>,
  patterns: readonly Pattern[],
): readonly Sight[] {
  const { ending } = state;
  const isOver = sights.some((sight) => sight.kind === "turn-ended" && sight.outcome === "success");
  if (ending === null || !isOver) return [];
  return patterns
    .filter(({ kind, find }) => kind === "completed" && find(ending) !== null)
    .slice(0, 1)
    .map(({ name }) => ({ kind: "completed", pattern: name }));
}

function readFields(family: AgentFamily, state: StreamState, fields: Fields, clock: WallClock): Reading<StreamState> {
  switch (family) {
    case "claude-code":
      return readClaude(state, fields, clock);
    case "codex":
      return readCodex(state, fields, clock);
    case "gemini-cli":
      return readGemini(state, fields, clock);
    case "opencode":
      return readOpencode(state, fields, clock);
    case "aider":
    case "generic":
      return saw(state);
  }
}
