import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import { type AgentFamily, type DurationMs, seconds } from "@rouse/contract";
import { findProgram } from "@rouse/core";
import {
  createTreeWatch,
  findCommand,
  markVariable,
  readProcess,
  type Spec,
  stopTree,
  type TreeWatch,
} from "@rouse/holder";
import type { Quota } from "../../ports/holders.ts";
import { askClaude, askCodex, unknown, type WayToAsk } from "./read-quota.ts";

/** How an agent is started. */
export type AskedProgram = Pick<Spec, "family" | "command" | "cwd" | "env">;

interface AskOptions {
  readonly within?: DurationMs;
  /** Aborted when the caller goes away. */
  readonly signal?: AbortSignal;
}

const answersWithin: DurationMs = seconds(15);
/** After the end of its input a program tidies up and exits within this time. */
const leavesWithin: DurationMs = seconds(2);
/** Bytes. An answer has some 2 kB, and the output around it hardly more. */
const longestTalk = 1024 * 1024;
const mostLines = 2000;

const ways: Readonly<Partial<Record<AgentFamily, WayToAsk>>> = { "claude-code": askClaude, codex: askCodex };

/**
 * Asks an agent's own program whether its account may be used, started as the agent is: same file, folder and login. No
 * model is asked and no token spent. Whatever goes wrong is `unknown`.
 */
export async function askQuota(program: AskedProgram, { within, signal }: AskOptions = {}): Promise<Quota> {
  const way = ways[program.family];
  if (way === undefined) return unknown("no-way");
  const [name = "", ...args] = program.command;
  // Behind a shell or npx it is not known which program would be asked.
  if (findProgram([name])?.family !== program.family) return unknown("started-otherwise");
  if (args.some((arg) => way.elsewhere.test(arg))) return unknown("another-account");
  const mark = randomUUID();
  const child = startAsking(program, name, way, mark);
  if (child === null) return unknown("no-answer");
  const tree = orNull(() => watchTree(child, mark));
  const isOver = new Promise<void>((over) => child.once("exit", () => over()).once("error", () => over()));
  const patience = AbortSignal.timeout(within ?? answersWithin);
  const quota = await hear(child, way, signal === undefined ? patience : AbortSignal.any([patience, signal]));
  // The processes it has started by now are known from here on, also those without the mark.
  orNull(() => tree?.look());
  await end(child, isOver, quota === null ? 0 : leavesWithin);
  if (tree !== null) await stopTree(tree, { graceMs: 0 }).catch(() => null);
  return quota ?? unknown("no-answer");
}

/**
 * Starts the program in a process group of its own, which can be ended as a whole. It must not speak for the agent, so
 * it gets no ROUSE_ variable; its own mark finds processes that leave the group.
 */
function startAsking(
  { cwd, env }: AskedProgram,
  name: string,
  way: WayToAsk,
  mark: string,
): ChildProcessWithoutNullStreams | null {
  const told = Object.entries(env).filter(([key]) => !key.startsWith("ROUSE_"));
  const own = { ...Object.fromEntries(told), [markVariable]: mark };
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

/** A failed look at processes, as with too many open files, must not keep us from ending the program. */
function orNull<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null;
  }
}

/** `null` when the program did not start, or the system does not show its processes. */
function watchTree({ pid }: ChildProcessWithoutNullStreams, mark: string): TreeWatch | null {
  const agent = pid === undefined ? null : readProcess(pid);
  if (agent === null) return null;
  const ownGroup = readProcess(process.pid)?.pgid ?? 0;
  const { startTicks } = agent;
  return createTreeWatch({
    agent: { pid: agent.pid, startTicks },
    mark,
    cgroup: null,
    ownGroup,
    useGroup: true,
    known: [],
  });
}

/**
 * Reads until the answer is there; `null` when none came in time. The output is untrusted: its length is bounded, and
 * each line is parsed once.
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
        const quota = listener(parse(line), Date.now());
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

/** A program that does not exit in time is killed, with its whole group. */
async function end(child: ChildProcessWithoutNullStreams, isOver: Promise<void>, leaves: DurationMs): Promise<void> {
  child.stdout.removeAllListeners("data").resume();
  child.stdin.end();
  const force = setTimeout(() => killGroup(child), leaves);
  // At the moment of its exit, before another process can get its number.
  child.once("exit", () => killGroup(child));
  if (child.exitCode !== null || child.signalCode !== null) killGroup(child);
  await isOver;
  clearTimeout(force);
  // A process it started in another group may still hold these pipes open.
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
