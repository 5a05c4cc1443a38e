import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { type AgentFamily, type DurationMs, seconds } from "@rouse/contract";
import { findProgram } from "@rouse/core";
import type { Quota } from "../../ports/holders.ts";
import { findCommand } from "../find-command.ts";
import { askClaude, askCodex, unknown, type WayToAsk } from "./read-quota.ts";

/** How an agent is started. */
export interface AskedProgram {
  readonly family: AgentFamily;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface AskOptions {
  readonly within?: DurationMs;
  /** Whoever asks goes away. */
  readonly signal?: AbortSignal;
}

const answersWithin: DurationMs = seconds(15);
/** Told that nothing follows, a program tidies up and goes. */
const leavesWithin: DurationMs = seconds(2);
/** An answer has some 2 kB, and what is said around it hardly more. */
const longestTalk = 1024 * 1024;
const mostLines = 2000;

const ways: Readonly<Partial<Record<AgentFamily, WayToAsk>>> = { "claude-code": askClaude, codex: askCodex };

/**
 * Asks an agent's own program whether its account may be used, as that program would be started: same file, folder and login. No model is asked and no
 * token spent. Whatever goes wrong is `unknown`.
 */
export async function askQuota(program: AskedProgram, { within, signal }: AskOptions = {}): Promise<Quota> {
  const way = ways[program.family];
  if (way === undefined) return unknown("no-way");
  const [name = "", ...args] = program.command;
  // Behind a shell or npx nobody can say what would be asked.
  if (findProgram([name])?.family !== program.family) return unknown("started-otherwise");
  if (args.some((arg) => way.elsewhere.test(arg))) return unknown("another-account");
  const child = startAsking(program, name, way);
  if (child === null) return unknown("no-answer");
  const isOver = new Promise<void>((over) => child.once("exit", () => over()).once("error", () => over()));
  const patience = AbortSignal.timeout(within ?? answersWithin);
  const quota = await hear(child, way, signal === undefined ? patience : AbortSignal.any([patience, signal]));
  await end(child, isOver, quota === null ? 0 : leavesWithin);
  return quota ?? unknown("no-answer");
}

/** In a group of its own, which can be ended as a whole. It must not speak for the agent, so it gets nothing of what Rouse told that. */
function startAsking({ cwd, env }: AskedProgram, name: string, way: WayToAsk): ChildProcessWithoutNullStreams | null {
  const own = Object.fromEntries(Object.entries(env).filter(([key]) => !key.startsWith("ROUSE_")));
  try {
    const child = spawn(findCommand(name, cwd, env), way.args, { cwd, env: own, detached: true, stdio: "pipe" });
    child.stdin.on("error", () => {});
    child.stderr.resume();
    child.stdin.write(way.says.map((line) => `${JSON.stringify(line)}\n`).join(""));
    return child;
  } catch {
    return null;
  }
}

/**
 * Reads until the answer is there; `null` when none came in time. What it says is a stranger's word: its length is bounded, each line is looked at once,
 * and a reader judges it.
 */
function hear(child: ChildProcessWithoutNullStreams, way: WayToAsk, signal: AbortSignal): Promise<Quota | null> {
  const decoder = new StringDecoder("utf8");
  const listener = way.listen();
  let rest = "";
  let bytes = 0;
  let lines = 0;
  return new Promise((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > longestTalk) return resolve(unknown("nonsense"));
      const [end = "", ...more] = decoder.write(chunk).split("\n");
      rest += end;
      for (const next of more) {
        const line = rest;
        rest = next;
        if (++lines > mostLines) return resolve(unknown("nonsense"));
        const quota = line === "" ? null : listener(parse(line), Date.now());
        if (quota !== null) return resolve(quota);
      }
    });
    child.once("close", () => resolve(null));
    child.once("error", () => resolve(null));
    signal.addEventListener("abort", () => resolve(null), { once: true });
    if (signal.aborted) resolve(null);
  });
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** Nothing of it is left behind: whoever does not go is killed, and whatever it started with it. */
async function end(child: ChildProcessWithoutNullStreams, isOver: Promise<void>, leaves: DurationMs): Promise<void> {
  child.stdout.removeAllListeners("data").resume();
  child.stdin.end();
  const force = setTimeout(() => killGroup(child), leaves);
  // At the very moment of its end, before another process can get its number.
  child.once("exit", () => killGroup(child));
  if (child.exitCode !== null || child.signalCode !== null) killGroup(child);
  await isOver;
  clearTimeout(force);
  // Somebody it started in a group of their own may still have them.
  child.stdout.destroy();
  child.stderr.destroy();
}

function killGroup({ pid }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone.
  }
}
