import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * What Codex does that a holder looks at, at its shortest: it keeps a conversation that fails, and is gone. With
 * `--json` it names it and lives until `stop` is there; told to `ask` or `retry` it shows a menu of its own or the next
 * try of a request until then, and begins another one when `new` is there.
 */
const program = `
import { appendFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
const id = "01a1e667-6578-79e3-ab27-" + String(process.pid).padStart(12, "0");
const folder = join(process.env.CODEX_HOME, "sessions/2026/11/16");
mkdirSync(folder, { recursive: true });
let begun = "22-08-18-" + id;
const keep = (type, payload) => appendFileSync(join(folder, "rollout-2026-11-16T" + begun + ".jsonl"), JSON.stringify({ timestamp: new Date().toISOString(), type, payload }) + "\\n");
const print = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
const prints = process.argv.includes("--json");
if (prints) print({ type: "thread.started", thread_id: id });
keep("session_meta", { id, cwd: process.cwd(), cli_version: "0", thread_source: "user" });
keep("event_msg", { type: "task_started" });
while (prints && !existsSync("stop")) await new Promise((resolve) => setTimeout(resolve, 20));
const error = { message: "Codex ran out of room in the model's context window.", codex_error_info: "context_window_exceeded" };
keep("event_msg", { type: "task_complete", last_agent_message: null, error });
if (prints) print({ type: "turn.failed", error: { message: error.message } });
const shows = { ask: "› 1. Switch to another model\\n  2. Keep current model\\n\\n  enter select · esc back\\n", retry: "ERROR: Reconnecting... 1/5\\n" }[process.argv[2]];
if (shows !== undefined) {
  process.stdout.write(shows);
  while (!existsSync("stop")) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (!existsSync("new") || begun.startsWith("23")) continue;
    begun = "23-00-00-another";
    keep("session_meta", { id: "another", cwd: process.cwd(), cli_version: "0", thread_source: "user" });
  }
}
process.exitCode = 1;
`;

/** A program of that name below a folder. */
export function makeCodex(folder: string): string {
  const file = join(folder, "bin/codex");
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "bin/package.json"), '{"type":"module"}');
  writeFileSync(file, program);
  return file;
}
