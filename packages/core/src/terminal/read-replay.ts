/** No message of ours is longer. */
const longest = 64 * 1024;

/** What a line of Claude Code's stream says was put to it: with `--replay-user-messages` it repeats each message when it becomes part of the conversation. */
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
