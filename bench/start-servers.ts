import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadPlan, LoadResult } from "./load.ts";
import { endAgents } from "./terminals/end-agents.ts";

export interface Server {
  readonly pid: number;
  readonly port: number;
  readonly token: string;
  /** As it would be stopped by hand. */
  stop(): Promise<void>;
  /** As a crash would. */
  kill(): Promise<void>;
}

export const rouse = resolve("packages/daemon/bin/rouse.js");
const token = "token-of-the-bench-0123456789";
const longestStart = 60_000;
const longestStop = 20_000;

const running = new Set<ChildProcess>();
const folders = new Set<string>();

/** Whatever happens, no process and no folder of ours is left behind. */
export function cleanUpOnExit(): void {
  process.on("exit", () => {
    for (const child of running) child.kill("SIGKILL");
    for (const folder of folders) removeDataFolder(folder);
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
}

/** On a disk, not in memory: durability is part of what is measured. */
export function makeDataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rouse-bench-"));
  folders.add(folder);
  writeFileSync(join(folder, "token"), `${token}\n`, { mode: 0o600 });
  return folder;
}

/** With the agents that were started there: their holders outlive the daemon. */
export function removeDataFolder(folder: string): void {
  endAgents(folder);
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

export async function startDaemon(folder: string): Promise<Server> {
  const port = await findFreePort();
  return becomeServer(startNode([rouse, "up", "--port", String(port)], environmentOf(folder), folder), port);
}

/** Runs a command of ours to its end and returns what it printed. */
export function runRouse(folder: string, args: readonly string[]): Promise<string> {
  return outputOf(startNode([rouse, ...args], environmentOf(folder), folder));
}

export function environmentOf(folder: string): NodeJS.ProcessEnv {
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("ROUSE_")));
  return { ...environment, ROUSE_HOME: folder };
}

export async function startEcho(): Promise<Server> {
  const port = await findFreePort();
  return becomeServer(startNode([thisProgram(), "echo", String(port)], process.env), port);
}

/** The load comes from a process of its own, so that it does not share an event loop with what is measured. */
export async function loadFrom(plan: LoadPlan): Promise<LoadResult> {
  const result = await startLoad(plan).result;
  if (result.wrong > 0)
    throw new Error(`${result.wrong} answers were not as expected; the first was ${result.firstWrong}`);
  return result;
}

export function startLoad(plan: LoadPlan): { readonly result: Promise<LoadResult>; kill(): Promise<void> } {
  const child = startNode([thisProgram(), "load", JSON.stringify(plan)], process.env);
  const result = outputOf(child).then((printed) => JSON.parse(printed) as LoadResult);
  return { result, kill: () => end(child, "SIGKILL") };
}

async function outputOf(child: ChildProcess): Promise<string> {
  const [printed, printedError] = await Promise.all([read(child.stdout), read(child.stderr), ended(child)]);
  if (child.exitCode !== 0) throw new Error(`${child.spawnargs.slice(1, 3).join(" ")} failed: ${printedError}`);
  return printed;
}

/** When /readyz says yes. */
async function waitUntilReady(port: number, stillWanted: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + longestStart;
  while (stillWanted() && performance.now() < giveUpAt) {
    if ((await statusOf(port, "/readyz")) === 200) return;
    await sleep(5);
  }
  throw new Error("the server did not become ready");
}

export function readJson(server: Server, path: string): Promise<unknown> {
  return new Promise((done, fail) => {
    const headers = { authorization: `Bearer ${server.token}` };
    get({ host: "127.0.0.1", port: server.port, path, headers, agent: false }, (response) => {
      read(response).then((text) => done(JSON.parse(text)), fail);
    }).on("error", fail);
  });
}

function statusOf(port: number, path: string): Promise<number | null> {
  return new Promise((done) => {
    const headers = { authorization: `Bearer ${token}` };
    get({ host: "127.0.0.1", port, path, headers, agent: false }, (response) => {
      response.resume();
      done(response.statusCode ?? null);
    }).on("error", () => done(null));
  });
}

async function becomeServer(child: ChildProcess, port: number): Promise<Server> {
  const printedError = read(child.stderr);
  child.stdout?.resume();
  try {
    await waitUntilReady(port, () => child.exitCode === null && child.signalCode === null);
  } catch (error) {
    await end(child, "SIGKILL");
    throw new Error(`${child.spawnargs.join(" ")} did not start: ${await printedError}`, { cause: error });
  }
  const pid = child.pid;
  if (pid === undefined) throw new Error("a server that answers has a process id");
  return { pid, port, token, stop: () => end(child, "SIGTERM"), kill: () => end(child, "SIGKILL") };
}

/** It does not outlive us. */
export function startNode(args: readonly string[], environment: NodeJS.ProcessEnv, cwd = process.cwd()): ChildProcess {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env: environment, cwd });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  const patience = setTimeout(() => child.kill("SIGKILL"), longestStop);
  await ended(child);
  clearTimeout(patience);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

async function read(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = "";
  for await (const chunk of stream ?? []) text = (text + String(chunk)).slice(-20_000);
  return text;
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

export function thisProgram(): string {
  const program = process.argv[1];
  if (program === undefined) throw new Error("the bench is run as a program");
  return program;
}
