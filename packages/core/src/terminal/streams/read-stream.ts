import { type AgentFamily, type EpochMs, type Sight, toIso } from "@rouse/contract";
import type { Pattern, WallClock } from "../reading.ts";
import { readClaude } from "./read-claude.ts";
import { readClaudeHook } from "./read-claude-hook.ts";
import { readClaudeTranscript } from "./read-claude-transcript.ts";
import { readCodex } from "./read-codex.ts";
import { readCodexRollout } from "./read-codex-rollout.ts";
import { type Fields, fieldsOf, parseLine, textIn } from "./read-fields.ts";
import { readGemini, readGeminiSession } from "./read-gemini.ts";
import { readOpencode, readOpencodeEvent, timeOfOpencodeEvent } from "./read-opencode.ts";
import { type Step, type StreamState, saw } from "./stream-state.ts";

export { type StreamState, startStream } from "./stream-state.ts";

/**
 * Reads one line of an agent's stream, without its line end. A line that is no JSON says nothing: streams share their
 * terminal with warnings and half lines.
 */
export function readStreamLine(family: AgentFamily, state: StreamState, line: string, clock: WallClock): Step {
  const fields = parseLine(line);
  return fields === null ? saw(state) : withoutOldEnding(readFields(family, state, fields, clock));
}

/** Only the agent's last message can end its turn. */
function withoutOldEnding({ state, sights }: Step): Step {
  const last = sights.findLast(({ kind }) => kind === "said" || kind === "tool-started" || kind === "model-asked");
  return last === undefined || last.kind === "said" ? { state, sights } : saw({ ...state, ending: null }, ...sights);
}

/** The turn is over and its last line was the completion marker: the agent says that it is done. */
export function findCompletion({ state, sights }: Step, patterns: readonly Pattern[]): readonly Sight[] {
  const { ending } = state;
  const isOver = sights.some((sight) => sight.kind === "turn-ended" && sight.outcome === "success");
  if (ending === null || !isOver) return [];
  return patterns
    .filter(({ kind, find }) => kind === "completed" && find(ending) !== null)
    .slice(0, 1)
    .map(({ name }) => ({ kind: "completed", pattern: name }));
}

function readFields(family: AgentFamily, state: StreamState, fields: Fields, clock: WallClock): Step {
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

/** Two programs read the same machine's clock this far apart. */
const slack = 1000;

/**
 * Reads one line of a session file. Lines from before `since` belong to an earlier life: a resumed conversation goes on
 * in the same file, or is copied into a new one.
 */
export function readSessionLine(
  family: AgentFamily,
  state: StreamState,
  line: string,
  clock: WallClock,
  since: EpochMs,
): Step {
  const fields = parseLine(line);
  if (fields === null || isBefore(fields, since)) return saw(state);
  switch (family) {
    case "claude-code":
      return withoutOldEnding(readClaudeTranscript(state, fields, clock));
    case "codex":
      return withoutOldEnding(readCodexRollout(state, fields, clock));
    case "opencode":
      return withoutOldEnding(readOpencodeEvent(state, fields, clock));
    case "gemini-cli":
      return withoutOldEnding(readGeminiSession(state, fields, clock));
    case "aider":
    case "generic":
      return saw(state);
  }
}

/** Files write times as we do, so earlier ones sort first. */
function isBefore(fields: Fields, since: EpochMs): boolean {
  const from = Math.max(0, since - slack);
  const { timestamp } = fields;
  return typeof timestamp === "string" ? timestamp < toIso(from) : (timeOfOpencodeEvent(fields) ?? from) < from;
}

/** Reads the body of one hook call. */
export function readHook(state: StreamState, body: string, clock: WallClock): Step {
  const fields = parseLine(body);
  return fields === null ? saw(state) : withoutOldEnding(readClaudeHook(state, fields, clock));
}

/** Whether a line of Claude Code's session file says that its model got these words. */
export function hasWords(line: string, words: string): boolean {
  const attachment = fieldsOf(parseLine(line)?.attachment);
  return attachment?.type === "hook_additional_context" && textIn(attachment.content).includes(words);
}
