import type { AgentFamily } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { takesUpConversation } from "./resume-command.ts";

const families: Readonly<Record<string, AgentFamily>> = {
  claude: "claude-code",
  codex: "codex",
  gemini: "gemini-cli",
  opencode: "opencode",
};

const takesUp = (line: string): boolean => {
  const command = line.split(" ");
  return takesUpConversation(families[command[0] ?? ""] ?? "generic", command);
};

describe("a command that is given again", () => {
  it.each([
    "claude --continue",
    "claude -c",
    "claude --permission-mode plan --resume 52e3ce85-1111-2222-3333-444455556666",
    "claude -pc go",
    "codex resume --last",
    "codex resume 01a1ed1d-a651-74f0-ab19-dfc4cb848652",
    "codex exec -s read-only resume --last go",
    "opencode --continue",
    "opencode run -s ses_1 go",
    "gemini --resume",
    "gemini -r latest -i go",
  ])("takes up the conversation it had: %s", (line) => {
    expect(takesUp(line)).toBe(true);
  });

  it.each([
    "claude go",
    "claude --resume",
    "claude --continue --fork-session",
    "claude -- --continue",
    "codex go",
    "codex resume",
    "codex fork --last",
    "codex -- resume --last",
    "opencode --session ses_1 --fork",
    "opencode run go",
    "./agent.sh --continue",
  ])("begins another, or asks which: %s", (line) => {
    expect(takesUp(line)).toBe(false);
  });
});
