import { describe, expect, it } from "vitest";
import { chooseFamily } from "./choose-family.ts";

const generic = { family: "generic", structured: false };
const structured = (...command: string[]) => chooseFamily(command).structured;
const familyOf = (...command: string[]) => chooseFamily(command).family;

describe("which program a command starts", () => {
  it("is told by its name, wherever it is installed", () => {
    expect(familyOf("claude")).toBe("claude-code");
    expect(familyOf("/usr/local/bin/claude", "-p", "hi")).toBe("claude-code");
    expect(familyOf("./node_modules/.bin/codex")).toBe("codex");
    expect(familyOf("/home/me@work/bin/gemini")).toBe("gemini-cli");
    expect(familyOf("aider", "--model", "sonnet")).toBe("aider");
    expect(familyOf("C:\\Tools\\claude.exe")).toBe("claude-code");
  });

  it("is told through the commands that run it", () => {
    expect(familyOf("npx", "claude")).toBe("claude-code");
    expect(familyOf("npx", "-y", "@anthropic-ai/claude-code@latest", "-p", "hi")).toBe("claude-code");
    expect(familyOf("npx", "-p", "@openai/codex", "codex", "exec")).toBe("codex");
    expect(familyOf("bunx", "@google/gemini-cli")).toBe("gemini-cli");
    expect(familyOf("pnpm", "dlx", "@openai/codex")).toBe("codex");
    expect(familyOf("uvx", "--from", "aider-chat", "aider")).toBe("aider");
    expect(familyOf("uvx", "aider")).toBe("aider");
    expect(familyOf("uv", "tool", "run", "aider")).toBe("aider");
    expect(familyOf("env", "-u", "DEBUG", "A=b", "C=d e", "claude")).toBe("claude-code");
    expect(familyOf("nice", "-n", "5", "claude")).toBe("claude-code");
    expect(familyOf("nice", "-5", "claude")).toBe("claude-code");
    expect(familyOf("timeout", "60", "codex")).toBe("codex");
    expect(familyOf("timeout", "-k", "5", "--foreground", "60", "codex")).toBe("codex");
    expect(familyOf("/usr/bin/env", "nohup", "nice", "timeout", "1h", "npx", "-y", "--", "claude")).toBe("claude-code");
  });

  it("is told by the file an interpreter runs", () => {
    expect(familyOf("node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", "-p")).toBe("claude-code");
    expect(familyOf("node", "--max-old-space-size=4096", "-r", "./x.js", "/opt/bin/claude")).toBe("claude-code");
    expect(familyOf("node", "/x/@openai/codex/bin/codex.js")).toBe("codex");
    expect(familyOf("node", "/x/@google/gemini-cli/bundle/gemini.js")).toBe("gemini-cli");
    expect(familyOf("python3.12", "-m", "aider", "--yes")).toBe("aider");
    expect(familyOf("python", "-u", "-m", "aider")).toBe("aider");
  });

  it("is told from a shell's line only if that line is plain", () => {
    expect(familyOf("bash", "-c", "claude -p hello")).toBe("claude-code");
    expect(familyOf("sh", "-lc", "codex exec --json hello")).toBe("codex");
    for (const line of [
      'claude -p "fix the tests"',
      "claude -p hi | tee log",
      "cd app && claude",
      "claude -p hi > out.json",
      "claude $ARGS",
      "claude\ncodex",
      "echo claude",
      "env A=b claude",
      "",
    ])
      expect(chooseFamily(["bash", "-c", line]), line).toEqual(generic);
  });

  it("is anybody's guess for every other command", () => {
    for (const command of [
      [],
      [""],
      ["npx"],
      ["timeout", "60"],
      ["npx", "-c", "claude -p"],
      ["env", "-S", "claude -p"],
      ["bash", "claude"],
      ["bash", "run-agents.sh", "-c", "claude"],
      ["node", "-e", "claude"],
      ["node", "claude-code-review.js"],
      ["python", "-c", "aider"],
      ["vim", "claude"],
      ["claude-monitor"],
      ["constructor"],
      ["__proto__"],
    ])
      expect(chooseFamily(command), command.join(" ")).toEqual(generic);
  });
});

describe("a stream of JSON is expected", () => {
  it("from Claude Code when it prints in that format", () => {
    expect(structured("claude", "-p", "fix it", "--output-format", "stream-json", "--verbose")).toBe(true);
    expect(structured("claude", "--output-format=stream-json", "--print", "fix it")).toBe(true);
    expect(structured("claude", "-cp", "go on", "--output-format", "stream-json")).toBe(true);
    expect(structured("npx", "-y", "@anthropic-ai/claude-code", "-p", "x", "--output-format=stream-json")).toBe(true);
    expect(structured("claude", "-p", "fix it")).toBe(false);
    expect(structured("claude", "-p", "fix it", "--output-format", "json")).toBe(false);
    expect(structured("claude", "--output-format", "stream-json")).toBe(false);
    expect(structured("claude", "-p", "--input-format", "stream-json")).toBe(false);
  });

  it("from Codex when it executes with --json", () => {
    expect(structured("codex", "exec", "--json", "fix it")).toBe(true);
    expect(structured("codex", "e", "fix it", "--json")).toBe(true);
    expect(structured("codex", "-m", "gpt-5", "exec", "--experimental-json", "fix it")).toBe(true);
    expect(structured("codex", "exec", "resume", "--last", "--json")).toBe(true);
    expect(structured("codex", "exec", "fix it")).toBe(false);
    expect(structured("codex", "--json")).toBe(false);
    expect(structured("codex", "-p", "exec", "--json")).toBe(false);
    expect(structured("codex", "fix the exec command", "--json")).toBe(false);
  });

  it("from Gemini CLI when it has a prompt and that format", () => {
    expect(structured("gemini", "-p", "fix it", "--output-format", "stream-json")).toBe(true);
    expect(structured("gemini", "-p", "--output-format", "stream-json")).toBe(true);
    expect(structured("gemini", "--prompt=fix it", "-o", "stream-json")).toBe(true);
    expect(structured("gemini", "-o", "stream-json")).toBe(false);
    expect(structured("gemini", "-p", "fix it", "-o", "json")).toBe(false);
  });

  it("never because a prompt mentions it", () => {
    expect(structured("claude", "-p", "use --output-format stream-json")).toBe(false);
    expect(structured("claude", "-p", "--", "--output-format", "stream-json")).toBe(false);
    expect(structured("claude", "--output-format", "stream-json", "--", "-p")).toBe(false);
    expect(structured("claude", "--output-format", "stream-json", "--append-system-prompt", "--print")).toBe(false);
    expect(structured("claude", "-p", "--append-system-prompt", "--output-format=stream-json")).toBe(false);
    expect(structured("codex", "exec", "explain codex exec --json")).toBe(false);
    expect(structured("codex", "exec", "--", "--json")).toBe(false);
    expect(structured("gemini", "-p", "-o stream-json")).toBe(false);
    expect(structured("gemini", "-p", "x", "--", "-o", "stream-json")).toBe(false);
    expect(structured("aider", "-p", "--output-format", "stream-json")).toBe(false);
  });
});
