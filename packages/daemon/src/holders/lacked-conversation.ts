import type { AgentFamily } from "@rouse/contract";
import { holderFiles, readOutput, type Spec } from "@rouse/holder";
import { readExitFile } from "./read-holder-files.ts";

/** What each program says of a conversation that it does not have, or no longer. */
const words: Partial<Record<AgentFamily, RegExp>> = {
  "claude-code": /No conversation found (?:with session ID|to continue)/,
  codex: /no rollout found for thread id/,
  opencode: /Session not found/,
  "gemini-cli": /Error resuming session: No previous sessions found/,
};

/** Whoever has nothing to go on with says so and little else. */
const mostWritten = 16_384;

/**
 * The conversation that the last life of an agent was to go on with and that its program does not have: it was killed before that was written down, or it
 * was tidied away. To resume it again would fail for ever. Empty: its command named none. `null`: it ended for another reason.
 */
export function lackedConversation(home: string, { agentId, family, session }: Spec): string | null {
  const failed = (readExitFile(home, agentId)?.exit.code ?? 0) !== 0;
  if (!failed) return null;
  return words[family]?.test(outputOf(home, agentId)) ? (session ?? "") : null;
}

/** What cannot be read says nothing, nor do words among many: those may be what a tool printed. */
function outputOf(home: string, agentId: string): string {
  try {
    const files = holderFiles(home, agentId);
    const from = readOutput(files, { from: null, limit: 0 })?.lifeStart ?? null;
    const written = readOutput(files, { from, limit: mostWritten + 1 })?.bytes;
    return written === undefined || written.length > mostWritten ? "" : written.toString("utf8");
  } catch {
    return "";
  }
}
