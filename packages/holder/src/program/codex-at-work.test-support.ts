import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { thread, turn } from "./codex-server.test-support.ts";

/**
 * Codex's full screen at its shortest: a turn is under way until `stop` is there, and what is in `show` is shown. Its
 * server is somebody else.
 */
const program = `
import { existsSync, readFileSync } from "node:fs";
let shown = "";
while (!existsSync("stop")) {
  const show = existsSync("show") ? readFileSync("show", "utf8") : "";
  if (show !== shown) process.stdout.write(show);
  shown = show;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
`;

export interface CodexAtWork {
  /** A program of that name. */
  readonly file: string;
  readonly home: string;
  keep(type: string, payload: object): void;
  /** What Codex keeps of words that were put into its turn, and of its model's next call. */
  keepSteered(id: string, text: string): void;
}

/** Its turn is begun; whoever tests writes on in its session file. */
export function makeCodexAtWork(folder: string): CodexAtWork {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  writeFileSync(join(bin, "codex"), program);
  const home = join(folder, "codex");
  const day = join(home, "sessions/2026/11/17");
  mkdirSync(day, { recursive: true });
  const keep = (type: string, payload: object): void =>
    appendFileSync(
      join(day, `rollout-2026-11-17T22-36-30-${thread}.jsonl`),
      `${JSON.stringify({ timestamp: new Date().toISOString(), type, payload })}\n`,
    );
  return {
    file: join(bin, "codex"),
    home,
    keep,
    keepSteered(client_id, text) {
      const content = [{ type: "text", text, text_elements: [] }];
      keep("response_item", { type: "message", role: "user", content: [{ type: "input_text", text }] });
      keep("event_msg", { type: "item_completed", turn_id: turn, item: { type: "UserMessage", client_id, content } });
      keep("response_item", { type: "function_call", name: "shell", call_id: client_id, arguments: "{}" });
    },
  };
}
