import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * What Claude Code does that a holder looks at: calls its hooks, keeps its conversation, goes on until words come to
 * it. With `helper` a sub-agent calls them, too, until there is a file `done`; with `helper-goes-on` while its own turn
 * is over. It ends with status 7 when words come to that one. A file `go-to` names the conversation that it goes on
 * with. With `lying-tool` its tool calls them, as itself and by the way it is told in a file `lie`, and keeps what it
 * is answered in `answers`. With `--resume` its conversation holds a call from before it was started, and it goes on
 * once there is a file `go`; with `clear` it is cleared after its first call and says nothing more; with `dies` it is
 * gone in the middle of its first call, after some seconds.
 */
const program = `
import { appendFileSync, mkdirSync, readFileSync, existsSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { spawn } from "node:child_process";
import { join } from "node:path";
const args = process.argv.slice(2);
const at = args.indexOf("--plugin-dir");
const hook = at === -1 ? null : JSON.parse(readFileSync(join(args[at + 1], "hooks/hooks.json"), "utf8")).hooks.Stop[0].hooks[0];
const resumed = args.indexOf("--resume");
let session = resumed === -1 ? randomUUID() : args[resumed + 1];
const folder = join(process.env.HOME, ".claude/projects", process.cwd().replace(/[^A-Za-z0-9]/g, "-"));
mkdirSync(folder, { recursive: true });
let transcript = join(folder, session + ".jsonl");
const keep = (line) => appendFileSync(transcript, JSON.stringify({ sessionId: session, entrypoint: "cli", version: "0", isSidechain: false, timestamp: new Date().toISOString(), ...line }) + "\\n");
async function call(event, more = {}) {
  if (hook === null) return {};
  const headers = { authorization: hook.headers.Authorization.replace("$ROUSE_HOOK_TOKEN", process.env.ROUSE_HOOK_TOKEN) };
  const body = JSON.stringify({ session_id: session, transcript_path: transcript, hook_event_name: event, ...more });
  return (await fetch(hook.url, { method: "POST", headers, body })).json();
}
const callOf = (id, input) => ({ type: "assistant", message: { id: "m" + id, content: [{ type: "tool_use", id, name: "Bash", input }], usage: { output_tokens: 10 } } });
const resultOf = (id) => ({ type: "user", message: { content: [{ type: "tool_result", tool_use_id: id, is_error: true, content: "Exit code 1" }] } });
if (resumed !== -1) {
  for (const line of [callOf("toolu_old", {}), resultOf("toolu_old")]) keep({ timestamp: new Date(performance.timeOrigin - 2500).toISOString(), ...line });
  await new Promise((resolve) => setInterval(() => existsSync("go") && resolve(), 50));
}
keep({ type: "user", promptSource: "typed", message: { content: "go" } });
await call("UserPromptSubmit");
if (args.includes("broken-off")) {
  const rule = "─".repeat(60);
  process.stdout.write([rule, "❯ ", rule, "  ? for shortcuts"].join("\\r\\n") + "\\x1b[2A\\r\\x1b[2C");
  await new Promise((resolve) => setInterval(() => existsSync("stop") && resolve(), 100));
}
async function help(until) {
  for (let n = 1; !existsSync(until); n++) {
    const tool = { agent_id: "helper", agent_type: "Explore", tool_use_id: "toolu_helper_" + n, tool_name: "Read", tool_input: {} };
    await call("PreToolUse", tool);
    const told = await call("PostToolBatch", { ...tool, tool_calls: [] });
    if (told.hookSpecificOutput) process.exit(7);
    appendFileSync("helped", ".");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
if (args.includes("helper-goes-on")) {
  await call("Stop", { last_assistant_message: "It works in the background.", background_tasks: [{}] });
  await help("stop");
}
const lie = \`
  const { appendFileSync, existsSync, readFileSync } = require("node:fs");
  const { hook, session, transcript } = JSON.parse(process.argv[1]);
  const headers = { authorization: "Bearer " + process.env.ROUSE_HOOK_TOKEN };
  const tell = async () => {
    if (existsSync("stop")) process.exit();
    if (existsSync("lie")) {
      const body = JSON.stringify({ session_id: session, transcript_path: transcript, ...JSON.parse(readFileSync("lie", "utf8")) });
      const answer = await fetch(hook.url, { method: "POST", headers, body });
      appendFileSync("answers", answer.status + " " + (await answer.text()) + "\\\\n");
    }
    setTimeout(tell, 20);
  };
  tell();
\`;
if (args.includes("lying-tool")) {
  const told = JSON.stringify({ hook, session, transcript });
  spawn(process.execPath, ["-e", lie, told], { stdio: "ignore", argv0: "claude" });
}
const goTo = (id) => {
  session = id;
  transcript = join(folder, session + ".jsonl");
};
async function clear() {
  await call("SessionEnd", { reason: "clear" });
  goTo(randomUUID());
  keep({ type: "user", isMeta: true, message: { content: "<local-command-caveat>The command below was run directly in Claude Code.</local-command-caveat>" } });
  keep({ type: "user", message: { content: "<command-name>/clear</command-name>\\n            <command-message>clear</command-message>" } });
  keep({ type: "system", subtype: "local_command", content: "<local-command-stdout></local-command-stdout>" });
  await new Promise((resolve) => setInterval(() => existsSync("stop") && resolve(), 50));
  process.exit();
}
for (let n = 1; !existsSync("stop"); n++) {
  if (existsSync("go-to")) goTo(readFileSync("go-to", "utf8"));
  const tool = { tool_use_id: "toolu_" + process.pid + "_" + n, tool_name: "Bash", tool_input: { command: "cat missing.txt" } };
  keep(callOf(tool.tool_use_id, tool.tool_input));
  if (args.includes("dies")) await new Promise(() => setTimeout(() => process.exit(1), 4000));
  await call("PreToolUse", tool);
  if (args.includes("helper")) await help("done");
  await call("PostToolUseFailure", { ...tool, error: "Exit code 1" });
  keep(resultOf(tool.tool_use_id));
  if (args.includes("clear")) await clear();
  const { hookSpecificOutput } = await call("PostToolBatch", { tool_calls: [{ ...tool, tool_response: "Exit code 1" }] });
  if (hookSpecificOutput) {
    keep({ type: "attachment", attachment: { type: "hook_additional_context", content: [hookSpecificOutput.additionalContext] } });
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, args.includes("slowly") ? 100 : 5));
}
keep({ type: "assistant", message: { id: "last", content: [{ type: "text", text: "I stop here." }] } });
await call("Stop", { last_assistant_message: "I stop here." });
keep({ type: "system", subtype: "turn_duration" });
`;

/** A program of that name below a folder; \`stop\` in its working folder ends it. */
export function makeClaude(folder: string): string {
  const file = join(folder, "bin/claude");
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "bin/package.json"), '{"type":"module"}');
  writeFileSync(file, program);
  chmodSync(file, 0o755);
  return file;
}
