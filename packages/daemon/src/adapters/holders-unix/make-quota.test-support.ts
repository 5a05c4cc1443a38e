import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What a program that is asked for its quota does. */
export interface Plays {
  /** Codex: what it says to each request, by its number. */
  readonly replies?: Readonly<Record<number, object>>;
  /** Claude Code: what it says to `get_usage`. */
  readonly usage?: object;
  /** Written before anything else. */
  readonly first?: string;
  /** Said so often before anything else, in small pieces. */
  readonly repeats?: { readonly text: string; readonly times: number };
  /** So many characters without an end of line. */
  readonly long?: number;
  readonly dies?: true;
  /** It does not go when nothing more is said to it, and has started something. */
  readonly stays?: true;
  /** When nothing more is said to it, it has something to do before it goes. */
  readonly tidies?: true;
  /** What it has started leaves its group, and keeps its output open. */
  readonly daemonizes?: true;
}

/** Codex's app server and Claude Code's control requests at their shortest, as the programs answered on 2026-11-17. */
const program = `#!${process.execPath}
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
const plays = JSON.parse(process.env.PLAYS);
// At work it ends at once, as at a limit.
const started = plays.stays && process.argv[2] !== "exec" ? spawn("/bin/sleep", ["1000"], plays.daemonizes ? { detached: true, stdio: "inherit" } : { stdio: "ignore" }).pid : null;
writeFileSync("asked.json", JSON.stringify({ pid: process.pid, started, args: process.argv.slice(2), env: Object.keys(process.env) }));
if (plays.dies || process.argv[2] === "exec") process.exit(1);
if (plays.stays) setInterval(() => {}, 1000);
const { text, times } = plays.repeats ?? { text: "", times: 0 };
for (let left = times; left > 0; left -= 500) process.stdout.write(text.repeat(Math.min(left, 500)));
process.stdout.write((plays.first ?? "") + "x".repeat(plays.long ?? 0));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, request_id, request } = JSON.parse(line);
  const reply = plays.replies?.[id];
  if (reply !== undefined) console.log(JSON.stringify({ id, ...reply }));
  if (request?.subtype === "get_usage" && plays.usage !== undefined)
    console.log(JSON.stringify({ type: "control_response", response: { subtype: "success", request_id, response: plays.usage } }));
}
if (plays.tidies) setTimeout(() => writeFileSync("tidied", ""), 50);
`;

/** Programs of these names below a folder, which is also where they write down how they were asked. */
export function makeQuota(folder: string) {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  for (const name of ["codex", "claude"]) {
    writeFileSync(join(bin, name), program);
    chmodSync(join(bin, name), 0o755);
  }
  return {
    fileOf: (name: "codex" | "claude"): string => join(bin, name),
    environment: (plays: Plays): Record<string, string> => ({ PATH: bin, PLAYS: JSON.stringify(plays) }),
    asked: () =>
      JSON.parse(readFileSync(join(folder, "asked.json"), "utf8")) as {
        readonly pid: number;
        readonly started: number | null;
        readonly args: readonly string[];
        readonly env: readonly string[];
      },
  };
}

const window = (usedPercent: number, resetsAt: unknown) => ({ usedPercent, windowDurationMins: 300, resetsAt });

/** Codex with a login of ChatGPT. `resetsAt`: seconds. */
export function codexSays(usedPercent: number, resetsAt: unknown, more: object = {}): Required<Pick<Plays, "replies">> {
  const rateLimits = { limitId: "codex", primary: window(usedPercent, resetsAt), secondary: null, credits: null };
  return {
    replies: {
      1: { result: { userAgent: "codex/0.166.0" } },
      2: { result: { authMethod: "chatgpt", authToken: null, requiresOpenaiAuth: true } },
      3: { result: { ordinaryUsageAllowed: null, rateLimits, ...more } },
    },
  };
}
