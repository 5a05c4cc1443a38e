import { describe, expect, it } from "vitest";
import { messageLine, takesMessages } from "./claude-messages.ts";

const stream = ["-p", "--output-format", "stream-json", "--verbose"];

describe("messages as lines of JSON", () => {
  it("are taken by Claude Code that was asked to, in either way of writing it", () => {
    expect(takesMessages(["claude", ...stream, "--input-format", "stream-json"])).toBe(true);
    expect(takesMessages(["claude", ...stream, "--input-format=stream-json"])).toBe(true);
    expect(takesMessages(["npx", "-y", "@anthropic-ai/claude-code@2", "--input-format=stream-json", ...stream])).toBe(
      true,
    );
    expect(takesMessages(["sh", "-c", "claude -p --output-format=stream-json --input-format=stream-json"])).toBe(true);
  });

  it.each([
    ["nobody asked for it", ["claude", ...stream]],
    ["it takes text", ["claude", ...stream, "--input-format", "text"]],
    ["it is a word of the prompt", ["claude", ...stream, "--", "--input-format=stream-json"]],
    ["it is the system prompt", ["claude", ...stream, "--system-prompt", "--input-format=stream-json"]],
    ["it does not print", ["claude", "--input-format", "stream-json"]],
    ["it is another program", ["codex", "exec", "--json", "--input-format", "stream-json"]],
    ["nobody knows what it is", ["./run.sh", ...stream, "--input-format", "stream-json"]],
    ["there is no command", []],
  ])("are not taken when %s", (_, command) => {
    expect(takesMessages(command)).toBe(false);
  });

  it("hold their text whatever is in it, on one line", () => {
    const text = 'say "hi"\n{"type":"result"}';
    expect(messageLine(text)).not.toContain("\n");
    expect(JSON.parse(messageLine(text))).toEqual({
      type: "user",
      message: { role: "user", content: text },
      parent_tool_use_id: null,
    });
  });
});
