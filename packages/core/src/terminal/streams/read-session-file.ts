import { type AgentFamily, type EpochMs, toIso } from "@rouse/contract";
import type { Reading, WallClock } from "../reading.ts";
import { readClaudeHook } from "./read-claude-hook.ts";
import { readClaudeTranscript } from "./read-claude-transcript.ts";
import { readCodexRollout } from "./read-codex-rollout.ts";
import { type Fields, fieldsOf, parseLine, textIn } from "./read-fields.ts";
import { readGeminiSession } from "./read-gemini-session.ts";
import { readOpencodeEvent, timeOfOpencodeEvent } from "./read-opencode-events.ts";
import { withoutOldEnding } from "./read-stream.ts";
import { type StreamState, saw } from "./stream-state.ts";

/** Clocks of one machine, read by two programs. */
const slack = 1000;

/**
 * One line of the file a program keeps of its conversation. What it wrote before `since` belongs to an earlier life: a conversation that goes on is
 * written on in the same file, or copied into a new one.
 */
export function readSessionLine(
  family: AgentFamily,
  state: StreamState,
  line: string,
  clock: WallClock,
  since: EpochMs,
): Reading<StreamState> {
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

/** Files have their times written as we write them, so earlier ones sort first. */
function isBefore(fields: Fields, since: EpochMs): boolean {
  const from = Math.max(0, since - slack);
  const { timestamp } = fields;
  return typeof timestamp === "string" ? timestamp < toIso(from) : (timeOfOpencodeEvent(fields) ?? from) < from;
}

/** The body of one call of a hook. */
export function readHook(state: StreamState, body: string, clock: WallClock): Reading<StreamState> {
  const fields = parseLine(body);
  return fields === null ? saw(state) : withoutOldEnding(readClaudeHook(state, fields, clock));
}

/** Whether a line of Claude Code's file says that these words of ours were put before its model. */
export function hasWords(line: string, words: string): boolean {
  const attachment = fieldsOf(parseLine(line)?.attachment);
  return attachment?.type === "hook_additional_context" && textIn(attachment.content).includes(words);
}
