import { spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Fault } from "@rouse/contract";
import { callOf } from "../../../home/home-folder.ts";
import { forgetStderr, stderrFileOf } from "../../../home/keep-stderr.ts";
import { type DaemonFile, logFileIn, openHome, type Starter } from "../../../home/open-home.ts";
import { refuseInsideAgent } from "../../caller.ts";
import { choosePort, readPortVariable } from "../../choose-port.ts";
import { exit } from "../../exit-codes.ts";
import { answersAt, findRunning } from "../../find-daemon.ts";
import type { Surroundings } from "../../surroundings.ts";
import { drawFacts, type Fact } from "../../text/draw-table.ts";
import { type Line, styled, wrapLine } from "../../text/styled-text.ts";

/** Options of `rouse up` about where to listen; `undefined` where the person gave none. */
export interface ListenWishes {
  readonly port?: number;
  readonly host?: string;
  readonly config?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

export interface UpOptions extends ListenWishes {
  readonly detach?: true;
  readonly logMaxSize?: number;
  readonly logKeep?: number;
  readonly json?: true;
  readonly startedBy: Starter;
}

/** `rouse up -d`: starts a daemon, then says where it listens and what to type next. */
export async function upDetached(here: Surroundings, options: UpOptions): Promise<number> {
  const outcome = await startForOwner(here, options);
  if (outcome.kind === "failed") return tellFailure(here, outcome);
  const { daemon } = outcome;
  const differs = outcome.kind === "started" ? [] : findDifferences(here, options, daemon);
  if (options.json) {
    const { startTicks: _, ...shown } = daemon;
    here.printJson({ started: outcome.kind === "started", ...shown, home: here.home, differs });
  } else here.print(outcome.kind === "started" ? tellStarted(here, daemon) : tellAlreadyThere(here, daemon));
  for (const difference of differs) here.warn(difference);
  return exit.fine;
}

/** Starts a daemon as `rouse up -d` does. A daemon that an agent started would end with that agent. */
export function startForOwner(here: Surroundings, options: Omit<UpOptions, "startedBy"> = {}): Promise<StartOutcome> {
  refuseInsideAgent(here, "a Rouse that an agent starts would end with that agent: start it outside of agents");
  const port = choosePort(options.port, here.environment);
  return startDetached(here, wordsOf({ ...options, port }));
}

type Words = { readonly [Name in keyof Omit<UpOptions, "startedBy">]: UpOptions[Name] | undefined };

export function wordsOf(options: Words): string[] {
  const given: readonly (readonly [string, string | number | undefined])[] = [
    ["--port", options.port],
    ["--host", options.host],
    ["--config", options.config],
    ["--tls-cert", options.tlsCert],
    ["--tls-key", options.tlsKey],
    ["--log-max-size", options.logMaxSize],
    ["--log-keep", options.logKeep],
  ];
  return given.flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]));
}

/** Repeats what a daemon that failed to start said, and returns its exit code. */
export function tellFailure(here: Surroundings, { said, code }: Extract<StartOutcome, { kind: "failed" }>): number {
  const words = said.trim().replace(/^rouse: /, "");
  here.warn(words === "" ? "it ended before it answered, and said nothing" : words.replace(/\n {7}/g, "\n"));
  return code;
}

function tellStarted(here: Surroundings, { pid, url, version, log }: DaemonFile): Line[] {
  const facts: (Fact | null)[] = [
    ["process", [`${pid}, in the background`]],
    ["data", [here.home]],
    log === null ? null : ["log", [log]],
    ["next", [styled("bold", `${callOf(here.environment, here.home)} run -- COMMAND`)]],
  ];
  const afterwards =
    "That runs an agent under its eyes. `rouse status` says how Rouse is, `rouse down` stops it; agents run on.";
  return [
    [styled("bold", `Rouse ${version} is watching on ${url}`)],
    ...drawFacts(facts, here.width, 2),
    ...wrapLine([afterwards], here.width, 0),
  ];
}

const tellAlreadyThere = (here: Surroundings, { pid, url, version }: DaemonFile): Line[] => [
  [`Rouse ${version} is already running: process ${pid}, watching on ${url} (data in ${here.home})`],
];

/** Options of `rouse up -d` that differ from those of the running daemon. Options that were not given are not compared. */
function findDifferences(here: Surroundings, wishes: UpOptions, { url, log, asked }: DaemonFile): string[] {
  const { host, config, tlsCert, logMaxSize, logKeep } = wishes;
  const whole = (file?: string): string | undefined => file && resolve(here.workingFolder, file);
  const kilobytes = (bytes: number): string => `${bytes / 1000} kB`;
  // Earlier versions did not write down everything they were asked for.
  const differs = <T>(wanted: T | undefined, has: T | null, words: (has: T, wanted: T) => string): string[] =>
    wanted === undefined || has === null || wanted === has ? [] : [words(has, wanted)];
  const namesLog = logMaxSize !== undefined || logKeep !== undefined;
  const port = wishes.port ?? readPortVariable(here.environment);
  const differences = [
    ...differs(port || undefined, Number(new URL(url).port), (a, b) => `port ${a}, not ${b}`),
    ...differs(host, asked.host, (a, b) => `address ${a}, not ${b}`),
    ...differs(
      whole(config),
      asked.config ?? "config.yaml of the data folder",
      (a, b) => `configuration ${a}, not ${b}`,
    ),
    ...differs(whole(tlsCert), asked.tlsCert ?? "none", (a, b) => `certificate ${a}, not ${b}`),
    ...(log === null && namesLog ? ["no log of its own"] : []),
    ...differs(logMaxSize, asked.logMaxSize, (a, b) => `a log of up to ${kilobytes(a)}, not ${kilobytes(b)}`),
    ...differs(logKeep, asked.logKeep, (a, b) => `${a} older logs kept, not ${b}`),
  ];
  return differences.map((one) => `it runs with ${one}; \`rouse down\` and start it again to change that`);
}

type StartOutcome =
  | { readonly kind: "started" | "already-running"; readonly daemon: DaemonFile }
  /** It ended before it answered: what it wrote to stderr, and its exit code. */
  | { readonly kind: "failed"; readonly said: string; readonly code: number };

/** Exit code of a detached daemon that found another one on its data folder; only its starter sees it. */
export const anotherHasTheFolder = 75;

/** How long a daemon may take to answer: resuming a hundred thousand agents takes seconds, on a busy machine more. */
const patience = 60_000;
const lookEvery = 50;
const longest = 64 * 1024;

/** Starts a daemon in a session of its own and waits until it answers. `words` are the options it is started with. */
async function startDetached(here: Surroundings, words: readonly string[]): Promise<StartOutcome> {
  const there = await findLive(here.home);
  if (there !== null) return { kind: "already-running", daemon: there };
  const { folder } = openHome(here.home);
  const stderr = openSync(stderrFileOf(folder, process.pid), "ax+", 0o600);
  try {
    const outcome = await awaitLive(folder, launch(here, words, stderr));
    if (outcome.kind !== "ended") return outcome;
    const said = readAll(stderr);
    forgetStderr(folder, process.pid, fstatSync(stderr).ino);
    const other = outcome.code === anotherHasTheFolder ? await awaitDaemon(folder) : null;
    if (other !== null) return { kind: "already-running", daemon: other };
    return { kind: "failed", said, code: outcome.code === anotherHasTheFolder ? exit.taken : outcome.code };
  } finally {
    closeSync(stderr);
  }
}

/** The daemon keeps our working folder, so that relative names mean the same, and does not end with our terminal. */
function launch({ environment }: Surroundings, words: readonly string[], stderr: number) {
  const { ROUSE_URL: _url, ROUSE_TOKEN: _token, ...env } = environment;
  let ended: number | null = null;
  const child = spawn(process.execPath, [process.argv[1] ?? "", "up", "--started-by", "detached", ...words], {
    detached: true,
    stdio: ["ignore", "ignore", stderr],
    env,
  });
  child.on("error", (error) => {
    writeSync(stderr, `it could not be started: ${error.message}\n`);
    ended = exit.wrong;
  });
  child.on("exit", (code, signal) => {
    if (signal !== null) writeSync(stderr, `it was ended by ${signal} before it answered\n`);
    ended = code ?? exit.wrong;
  });
  child.unref();
  return { pid: child.pid, ended: (): number | null => ended };
}

type Awaited =
  | { readonly kind: "started"; readonly daemon: DaemonFile }
  | { readonly kind: "ended"; readonly code: number };

async function awaitLive(home: string, { pid, ended }: ReturnType<typeof launch>): Promise<Awaited> {
  const giveUpAt = performance.now() + patience;
  for (;;) {
    const code = ended();
    if (code !== null) return { kind: "ended", code };
    const daemon = await findLive(home);
    if (daemon !== null && daemon.pid === pid) return { kind: "started", daemon };
    if (performance.now() > giveUpAt) throw tooSlow(home, pid);
    await pause(lookEvery);
  }
}

const tooSlow = (home: string, pid: number | undefined): Fault =>
  new Fault(
    "daemon-unreachable",
    `process ${pid} was started, but does not answer after ${patience / 1000} s. It may still be on its way: \`rouse status\` tells, and so does ${logFileIn(home)}`,
  );

/** Waits for a daemon that somebody else started: of two at the same moment, one gets the folder and soon answers. */
export async function awaitDaemon(home: string, isHopeless = (): boolean => false): Promise<DaemonFile | null> {
  const giveUpAt = performance.now() + patience / 4;
  for (;;) {
    const daemon = await findLive(home);
    if (daemon !== null || performance.now() > giveUpAt || isHopeless()) return daemon;
    await pause(lookEvery);
  }
}

/** The daemon that wrote daemon.json and answers. A damaged file counts as none: the next daemon replaces it. */
async function findLive(home: string): Promise<DaemonFile | null> {
  const daemon = await findRunning(home).catch(() => null);
  return daemon !== null && (await answersAt(daemon.url)) ? daemon : null;
}

function readAll(handle: number): string {
  const bytes = Buffer.alloc(longest);
  return bytes.toString("utf8", 0, readSync(handle, bytes, 0, longest, 0));
}
