import { type ChildProcessByStdio, spawn } from "node:child_process";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { watchChild } from "./clean-up.ts";

export const repository = resolve(import.meta.dirname, "..");
export const program = join(repository, "packages", "daemon", "bin", "rouse.js");

/** The command `rouse`, as it is typed into a shell. */
export const typedRouse = `"${process.execPath}" "${program}"`;

export interface Surroundings {
  /** The data folder, `$ROUSE_HOME`. */
  readonly home: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  readonly ended: Promise<Ended>;
}

/** Starts any program with an environment of its own: of ours it has only PATH. */
export function startProgram(command: string, args: readonly string[], { home, environment }: Surroundings): Running {
  const child = spawn(command, args, {
    cwd: home.slice(0, home.lastIndexOf("/")),
    env: { PATH: process.env["PATH"], HOME: home, ROUSE_HOME: home, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  watchChild(child);
  const printed = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    printed.stderr += text;
  });
  const ended = new Promise<Ended>((resolveEnd, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolveEnd({ code, signal, ...printed }));
  });
  ended.catch(() => undefined);
  return { child, pid: child.pid ?? -1, stdout: () => printed.stdout, stderr: () => printed.stderr, ended };
}

/** Starts the real `rouse`, as a user types it. */
export const startRouse = (args: readonly string[], surroundings: Surroundings): Running =>
  startProgram(process.execPath, [program, ...args], surroundings);

export const runRouse = (args: readonly string[], surroundings: Surroundings): Promise<Ended> =>
  startRouse(args, surroundings).ended;
