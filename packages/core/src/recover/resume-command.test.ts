import { describe, expect, it } from "vitest";
import { isToldByTyping, resumeCommand } from "./resume-command.ts";

const id = "3f2a9c1e-0b1d-4c55-9d7e-1a2b3c4d5e6f";
const words = "You were stopped. Go on after step 4.";

describe("Claude Code", () => {
  it.each([
    ["claude -p TASK", ["claude", "-p", "do it"], ["claude", "--resume", id, "-p", words]],
    [
      "with options around the prompt",
      ["claude", "--model", "opus", "-p", "do it", "--output-format", "stream-json", "--verbose"],
      ["claude", "--resume", id, "--model", "opus", "-p", words, "--output-format", "stream-json", "--verbose"],
    ],
    [
      "through npx",
      ["npx", "@anthropic-ai/claude-code", "-p", "x"],
      ["npx", "@anthropic-ai/claude-code", "--resume", id, "-p", words],
    ],
    ["an open conversation", ["claude"], ["claude", "--resume", id]],
    [
      "its own screen, started with a task",
      ["claude", "--permission-mode", "default", "--", "do it"],
      ["claude", "--resume", id, "--permission-mode", "default", "--", words],
    ],
    [
      "with its prompt before -p",
      ["claude", "--model", "opus", "do it", "-p"],
      ["claude", "--resume", id, "--model", "opus", words, "-p"],
    ],
    [
      "with a switch between -p and its prompt",
      ["claude", "-p", "--verbose", "do it"],
      ["claude", "--resume", id, "-p", "--verbose", words],
    ],
    ["with its prompt after --", ["claude", "-p", "--", "-v fails"], ["claude", "--resume", id, "-p", "--", words]],
    ["with switches in one word", ["claude", "-pc", "do it"], ["claude", "--resume", id, "-p", words]],
    [
      "with a system prompt that looks like an option",
      ["claude", "--append-system-prompt", "--print", "do it"],
      ["claude", "--resume", id, "--append-system-prompt", "--print", words],
    ],
    [
      "with a list of tools that ends with an option",
      ["claude", "--allowedTools", "Bash", "Edit", "-p", "do it"],
      ["claude", "--resume", id, "--allowedTools", "Bash", "Edit", "-p", words],
    ],
    [
      "with an option nobody here knows after its prompt",
      ["claude", "-p", "do it", "--newest", "thing"],
      ["claude", "--resume", id, "-p", words, "--newest", "thing"],
    ],
    ["forked before", ["claude", "-r", "old-session-1", "--fork-session"], ["claude", "--resume", id]],
    ["resumed before", ["claude", "--resume", "old-session-1", "-p", "x"], ["claude", "--resume", id, "-p", words]],
    [
      "with an id chosen up front",
      ["claude", `--session-id=${id}`, "-p", "x"],
      ["claude", "--resume", id, "-p", words],
    ],
    [
      "reading messages on its input",
      ["claude", "-p", "--input-format", "stream-json"],
      ["claude", "--resume", id, "-p", "--input-format", "stream-json"],
    ],
  ])("%s goes on with its conversation", (_, command, resumed) => {
    expect(resumeCommand("claude-code", command, id, words)).toEqual(resumed);
  });

  it.each([
    ["whose prompt comes from elsewhere", ["claude", "-p", "--verbose"]],
    ["whose prompt is one of its tools", ["claude", "-p", "--allowedTools", "Bash", "do it"]],
    ["whose prompt may be the value of an option", ["claude", "-p", "--newest", "do it"]],
    ["with two prompts", ["claude", "-p", "do", "it"]],
    ["that keeps no conversation", ["claude", "-p", "do it", "--no-session-persistence"]],
    ["that works elsewhere", ["claude", "--bg", "do it"]],
    ["that does something else", ["claude", "mcp", "list"]],
  ])("%s is started the same way", (_, command) => {
    expect(resumeCommand("claude-code", command, id, words)).toBeNull();
  });

  it("inside the line of a shell is left alone", () => {
    expect(resumeCommand("claude-code", ["sh", "-c", "claude -p go"], id, words)).toBeNull();
  });
});

describe("Codex", () => {
  // `resume` refuses options of `exec` that stand after it.
  it.each([
    ["with nothing but a prompt", [], ["do it"]],
    ["with its stream", ["--json"], ["do it"]],
    ["in a sandbox", ["--sandbox", "workspace-write", "--json"], ["do it"]],
    ["in another folder", ["--json", "-C", "/repo", "-m", "gpt-5", "-c", "model_reasoning_effort=high"], ["do it"]],
    ["with a value that is written together", ["--sandbox=read-only"], ["do it"]],
    ["with a prompt that looks like an option", ["--json"], ["--", "-v is broken"]],
    ["with an option nobody here knows", ["--newest", "thing", "--json"], ["do it"]],
    ["with pictures", ["-i", "a.png", "b.png", "--json"], ["do it"]],
  ])("%s goes on with its thread, its options before it", (_, options, prompt) => {
    const command = ["codex", "exec", ...options, ...prompt];
    expect(resumeCommand("codex", command, id, words)).toEqual(["codex", "exec", ...options, "resume", id, words]);
  });

  it.each([
    ["its own screen", ["codex"], ["codex", "resume", id]],
    ["its own screen with a task", ["codex", "-m", "gpt-5", "do it"], ["codex", "-m", "gpt-5", "resume", id, words]],
    ["a value joined to its letter", ["codex", "-mgpt-5", "--", "do it"], ["codex", "-mgpt-5", "resume", id, words]],
    [
      "options on both sides",
      ["codex", "-m", "exec", "e", "do it", "--json"],
      ["codex", "-m", "exec", "exec", "--json", "resume", id, words],
    ],
    ["resumed by hand", ["codex", "resume", "--last"], ["codex", "resume", id]],
    [
      "resumed by hand, with words",
      ["codex", "-s", "read-only", "resume", "old-1", "do it"],
      ["codex", "-s", "read-only", "resume", id, words],
    ],
    [
      "executed and resumed by hand",
      ["codex", "exec", "--json", "resume", "--last", "x"],
      ["codex", "exec", "--json", "resume", id, words],
    ],
  ])("%s goes on with its thread", (_, command, resumed) => {
    expect(resumeCommand("codex", command, id, words)).toEqual(resumed);
  });

  it.each([
    ["without a prompt at the end", ["codex", "exec", "--json"]],
    ["whose last word is an option's", ["codex", "exec", "--json", "--model", "gpt-5"]],
    ["whose last word may be an option's", ["codex", "exec", "--json", "--newest", "do it"]],
    ["whose last word is one of its pictures", ["codex", "exec", "-i", "a.png", "do it"]],
    ["whose pictures would take the next word", ["codex", "exec", "-i", "a.png", "--", "do it"]],
    ["that reads its prompt", ["codex", "exec", "--json", "-"]],
    ["with two words that could be its prompt", ["codex", "exec", "--json", "do", "it"]],
    ["that reviews", ["codex", "exec", "review"]],
    ["whose only word may be an option's", ["codex", "--newest", "do it"]],
    ["that keeps no conversation", ["codex", "exec", "--ephemeral", "do it"]],
    ["that does something else", ["codex", "mcp", "list"]],
  ])("%s is started the same way", (_, command) => {
    expect(resumeCommand("codex", command, id, words)).toBeNull();
  });
});

describe("Gemini CLI and opencode", () => {
  const ses = "ses_e1b5bfb9dffe8JjM45yH07FdQe";
  it.each([
    [
      "gemini-cli",
      id,
      ["gemini", "-p", "x", "-o", "stream-json"],
      ["gemini", "--resume", id, "--prompt", words, "-o", "stream-json"],
    ],
    ["gemini-cli", id, ["gemini", "-y", "fix", "it"], ["gemini", "--resume", id, "-y", words]],
    [
      "gemini-cli",
      id,
      ["gemini", "-i", "x", "-r", "latest"],
      ["gemini", "--resume", id, "--prompt-interactive", words],
    ],
    ["gemini-cli", id, ["gemini"], ["gemini", "--resume", id]],
    [
      "opencode",
      ses,
      ["opencode", "run", "--format", "json", "do", "it"],
      ["opencode", "run", words, "--format", "json", "--session", ses],
    ],
    ["opencode", ses, ["opencode", "run", "-c", "--", "do it"], ["opencode", "run", words, "--session", ses]],
    ["opencode", ses, ["opencode", "."], ["opencode", "--session", ses, "."]],
    ["opencode", ses, ["opencode", "--prompt", "x", "-s", "old-one"], ["opencode", "--session", ses]],
  ] as const)("%s goes on with its conversation (%#)", (family, session, command, resumed) => {
    expect(resumeCommand(family, command, session, words)).toEqual(resumed);
  });

  it.each([
    ["gemini-cli", ["gemini", "-p"]],
    ["gemini-cli", ["gemini", "mcp", "list"]],
    ["gemini-cli", ["gemini", "--newest", "x"]],
    ["opencode", ["opencode", "serve"]],
    ["opencode", ["opencode", "run"]],
    ["opencode", ["opencode", "run", "-f", "a.txt", "do it"]],
    ["opencode", ["opencode", "run", "--command", "review", "x"]],
  ] as const)("%s is started the same way when it cannot be told what to say (%#)", (family, command) => {
    expect(resumeCommand(family, command, ses, words)).toBeNull();
  });
});

it("only the full screen of opencode that had a prompt is told by typing", () => {
  expect(isToldByTyping("opencode", ["opencode", "--prompt", "x"])).toBe(true);
  expect(isToldByTyping("opencode", ["npx", "opencode", ".", "--prompt=x"])).toBe(true);
  for (const command of [["opencode"], ["opencode", "run", "x"], ["opencode", "--", "--prompt"], ["bash", "--prompt"]])
    expect(isToldByTyping("opencode", command), command.join(" ")).toBe(false);
  expect(isToldByTyping("codex", ["codex", "--prompt", "x"])).toBe(false);
});

it("an id that looks like an option or a path never gets onto a command line", () => {
  for (const session of ["--dangerous", "../../etc", "a b c d e f", "", "x"])
    expect(resumeCommand("claude-code", ["claude", "-p", "x"], session, words)).toBeNull();
});

it("other programs are started the same way", () => {
  expect(resumeCommand("generic", ["bash", "loop.sh"], id, words)).toBeNull();
  expect(resumeCommand("aider", ["aider", "--message", "x"], id, words)).toBeNull();
});
