import { describe, expect, it } from "vitest";
import { resumeCommand } from "./resume-command.ts";

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

  it("is started the same way when its prompt comes from elsewhere", () => {
    expect(resumeCommand("claude-code", ["claude", "-p", "--verbose"], id, words)).toBeNull();
  });

  it("inside the line of a shell is left alone", () => {
    expect(resumeCommand("claude-code", ["sh", "-c", "claude -p go"], id, words)).toBeNull();
  });
});

describe("Codex", () => {
  // What stands after `resume` would be refused: it knows few options of `exec`.
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
    ["without a prompt at the end", ["codex", "exec", "--json"]],
    ["whose last word is an option's", ["codex", "exec", "--json", "--model", "gpt-5"]],
    ["whose last word may be an option's", ["codex", "exec", "--json", "--newest", "do it"]],
    ["whose last word is one of its pictures", ["codex", "exec", "-i", "a.png", "do it"]],
    ["whose pictures would take the next word", ["codex", "exec", "-i", "a.png", "--", "do it"]],
    ["that reads its prompt", ["codex", "exec", "--json", "-"]],
    ["with two words that could be its prompt", ["codex", "exec", "--json", "do", "it"]],
    ["that reviews", ["codex", "exec", "review"]],
    ["that was resumed by hand after its options", ["codex", "exec", "--json", "resume", "--last", "x"]],
    ["in its own screen", ["codex"]],
    ["that was resumed by hand", ["codex", "exec", "resume", "--last", "x"]],
  ])("%s is started the same way", (_, command) => {
    expect(resumeCommand("codex", command, id, words)).toBeNull();
  });
});

it("an id that looks like an option or a path never gets onto a command line", () => {
  for (const session of ["--dangerous", "../../etc", "a b c d e f", "", "x"])
    expect(resumeCommand("claude-code", ["claude", "-p", "x"], session, words)).toBeNull();
});

it("other programs are started the same way", () => {
  expect(resumeCommand("generic", ["bash", "loop.sh"], id, words)).toBeNull();
  expect(resumeCommand("gemini-cli", ["gemini", "-p", "x"], id, words)).toBeNull();
});
