import { findProgram, optionsOfClaude, printsStream } from "../choose-family.ts";

/** Whether the command starts Claude Code so that it takes messages as lines of JSON on its input. */
export function takesMessages(command: readonly string[]): boolean {
  const program = findProgram(command);
  if (program?.family !== "claude-code" || !printsStream(program.family, program.args)) return false;
  return optionsOfClaude(program.args).get("--input-format") === "stream-json";
}

/** One message, without the end of its line. */
export const messageLine = (text: string): string =>
  JSON.stringify({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null });

/** No message of ours is longer. */
const longest = 64 * 1024;

/**
 * The text of a user message that Claude Code repeats, with `--replay-user-messages`, when it enters the conversation.
 */
export function replayedText(line: string): string | null {
  if (line.length > longest || !line.includes('"isReplay"')) return null;
  try {
    const { type, isReplay, message } = JSON.parse(line) as Record<string, unknown>;
    const content = (message as { content?: unknown } | null | undefined)?.content;
    return type === "user" && isReplay === true ? textOf(content) : null;
  } catch {
    return null;
  }
}

function textOf(content: unknown): string | null {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  const texts = content.map((part: { text?: unknown } | null) => part?.text);
  return texts.every((text) => typeof text === "string") ? texts.join("") : null;
}
