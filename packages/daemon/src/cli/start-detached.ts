import { spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Fault } from "@rouse/contract";
import { forgetStderr, stderrFileOf } from "../home/keep-stderr.ts";
import { type DaemonFile, logFileIn, openHome } from "../home/open-home.ts";
import { exit } from "./exit-codes.ts";
import { answersAt, findRunning } from "./find-daemon.ts";
import type { Surroundings } from "./surroundings.ts";

export type StartOutcome =
  | { readonly kind: "started" | "already-running"; readonly daemon: DaemonFile }
  /** It ended before it was live: what it said, and with which code it ended. */
  | { readonly kind: "failed"; readonly said: string; readonly code: number };

/** How a detached daemon ends that found another with its data folder; only whoever started it sees this code. */
export const anotherHasTheFolder = 75;

/** Resuming a hundred thousand agents takes seconds; on a busy machine, more of them. */
const patience = 60_000;
const lookEvery = 50;
const longest = 64 * 1024;

type Places = Pick<Surroundings, "environment" | "home">;

/** `rouse up -d`: a daemon in a session of its own, once it answers. `words` are the options it is started with. */
export async function startDetached(here: Places, words: readonly string[]): Promise<StartOutcome> {
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

interface Launched {
  readonly pid: number | undefined;
  /** With which code it ended, once it has. */
  ended(): number | null;
}

/** In the same folder, so that relative names mean the same; whoever closes this terminal does not end it. */
function launch({ environment }: Places, words: readonly string[], stderr: number): Launched {
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
  return { pid: child.pid, ended: () => ended };
}

type Awaited =
  | { readonly kind: "started"; readonly daemon: DaemonFile }
  | { readonly kind: "ended"; readonly code: number };

async function awaitLive(home: string, { pid, ended }: Launched): Promise<Awaited> {
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

/** One that somebody else started: of two that are started at the same moment, one has the folder and is soon live. */
export async function awaitDaemon(home: string, isHopeless = (): boolean => false): Promise<DaemonFile | null> {
  const giveUpAt = performance.now() + patience / 4;
  for (;;) {
    const daemon = await findLive(home);
    if (daemon !== null || performance.now() > giveUpAt || isHopeless()) return daemon;
    await pause(lookEvery);
  }
}

/** One that left its file and answers. A file that is half of an older one's is replaced by whoever comes up. */
async function findLive(home: string): Promise<DaemonFile | null> {
  const daemon = await findRunning(home).catch(() => null);
  return daemon !== null && (await answersAt(daemon.url)) ? daemon : null;
}

function readAll(handle: number): string {
  const bytes = Buffer.alloc(longest);
  return bytes.toString("utf8", 0, readSync(handle, bytes, 0, longest, 0));
}
