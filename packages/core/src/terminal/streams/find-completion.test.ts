import type { AgentFamily, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { Pattern } from "../reading.ts";
import { findCompletion, readStreamLine, startStream } from "./read-stream.ts";

const text = "<promise>COMPLETE</promise>";
const marker: Pattern = { kind: "completed", name: "done", find: (line) => (line === text ? [line] : null) };

function says(family: AgentFamily, ...lines: readonly object[]): readonly Sight[] {
  let state = startStream();
  return lines.flatMap((line) => {
    const step = readStreamLine(family, state, JSON.stringify(line), { now: 0, utcOffset: 0 });
    state = step.state;
    return findCompletion(step, [marker]);
  });
}

let messages = 0;
const claude = {
  said: (words: string) => ({
    type: "assistant",
    message: { id: `m${++messages}`, content: [{ type: "text", text: words }] },
  }),
  calls: {
    type: "assistant",
    message: { id: "m-tool", content: [{ type: "tool_use", id: "t", name: "Bash", input: {} }] },
  },
  got: (content: string) => ({
    type: "user",
    message: { content: [{ type: "tool_result", tool_use_id: "t", content }] },
  }),
  asked: { type: "user", message: { content: `say ${text}` } },
  over: { type: "result", subtype: "success", result: "" },
  failed: { type: "result", subtype: "error_during_execution" },
};
const codex = {
  said: (words: string) => ({ type: "item.completed", item: { id: "i", type: "agent_message", text: words } }),
  ran: (output: string) => ({
    type: "item.completed",
    item: { id: "c", type: "command_execution", command: "cat", aggregated_output: output, exit_code: 0 },
  }),
  over: { type: "turn.completed", usage: {} },
};
const gemini = {
  said: (content: string) => ({ type: "message", role: "assistant", content, delta: true }),
  over: { type: "result", status: "success" },
};

describe("the marker in a stream", () => {
  it.each<[AgentFamily, object[]]>([
    ["claude-code", [claude.said(text), claude.over]],
    ["claude-code", [claude.said(`All tests pass.\n\n  ${text}  \n\n`), claude.over]],
    ["claude-code", [claude.said(["```", "code", "```", text].join("\n")), claude.over]],
    ["codex", [codex.said("first"), codex.ran("ok"), codex.said(`Done.\n${text}`), codex.over]],
    ["gemini-cli", [gemini.said("Done.\n<promise>COM"), gemini.said("PLETE</promise>"), gemini.over]],
  ])("of %s ends its last message and its turn: %j", (family, lines) => {
    expect(says(family, ...lines)).toEqual([{ kind: "completed", pattern: "done" }]);
  });

  it.each<[string, AgentFamily, object[]]>([
    ["before the turn is over", "claude-code", [claude.said(text)]],
    ["in a turn that failed", "claude-code", [claude.said(text), claude.failed]],
    ["in a sentence", "claude-code", [claude.said(`I will say ${text}`), claude.over]],
    ["quoted", "claude-code", [claude.said(`> ${text}`), claude.over]],
    ["in backticks", "claude-code", [claude.said(`\`${text}\``), claude.over]],
    ["before other words", "claude-code", [claude.said(`${text}\nis what I will say.`), claude.over]],
    ["in a fence", "claude-code", [claude.said(`Say:\n\`\`\`\n${text}\n\`\`\``), claude.over]],
    ["in an open fence", "claude-code", [claude.said(`Say:\n\`\`\`\n${text}`), claude.over]],
    ["set as code", "claude-code", [claude.said(`Say:\n\n    ${text}`), claude.over]],
    ["with an invisible character", "claude-code", [claude.said("<promise>COM\u200bPLETE</promise>"), claude.over]],
    ["in an earlier message", "claude-code", [claude.said(text), claude.said("Now the tests."), claude.over]],
    ["before a tool", "claude-code", [claude.said(text), claude.calls, claude.got("ok"), claude.over]],
    ["in a tool's result", "claude-code", [claude.calls, claude.got(text), claude.over]],
    ["in the prompt", "claude-code", [claude.asked, claude.over]],
    [
      "of the turn before",
      "claude-code",
      [claude.said(text), { type: "system", subtype: "init", session_id: "s" }, claude.over],
    ],
    ["in a command's output", "codex", [codex.said("I look."), codex.ran(text), codex.over]],
    ["by the user", "gemini-cli", [{ type: "message", role: "user", content: text }, gemini.over]],
  ])("is none %s (%s)", (_, family, lines) => {
    expect(says(family, ...lines)).toEqual([]);
  });
});
