import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { type DurationMs, printable, seconds } from "@rouse/contract";
import type { WorkspaceFault } from "../../ports/workspaces.ts";

/** Why there is no answer from git. Stays inside this adapter: at its edge it becomes an outcome. */
export class GitFault extends Error {
  readonly because: WorkspaceFault;

  constructor(because: WorkspaceFault, problem: string) {
    super(problem);
    this.because = because;
  }
}

/** Which git, and until when it may work. */
export interface Git {
  readonly program: string;
  readonly deadline: AbortSignal;
}

export interface GitCall {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | string;
  /** Takes the output as it comes; otherwise all of it is in the answer. */
  readonly onOutput?: (chunk: Buffer) => void;
}

export interface GitAnswer {
  readonly status: number;
  readonly output: Buffer;
  /** The end of what it said on stderr. */
  readonly stderr: string;
}

const mostOutput = 8 * 1024 * 1024;
const mostStderr = 8 * 1024;
const endPolitelyWithin: DurationMs = seconds(1);

/** Runs git to its end. Any exit status is an answer; rejects with `GitFault` when there is none. */
export function runGit(git: Git, args: readonly string[], call: GitCall): Promise<GitAnswer> {
  return new Promise((resolve, reject) => {
    if (git.deadline.aborted) return reject(tookTooLong());
    const output: Buffer[] = [];
    let size = 0;
    let stderr = "";
    // A group of its own: whatever git starts ends with it.
    const child = spawn(git.program, args, { cwd: call.cwd, env: { ...call.environment }, detached: true });

    let settled = false;
    const settle = (finish: () => void): void => {
      git.deadline.removeEventListener("abort", giveUp);
      // Ended by us, it closes like any other.
      if (!settled) finish();
      settled = true;
    };
    const abandon = (fault: Error): void => {
      settle(() => end(child).then(() => reject(fault)));
    };
    const giveUp = (): void => abandon(tookTooLong());

    git.deadline.addEventListener("abort", giveUp, { once: true });
    child.once("error", (error) => settle(() => reject(nameFault(error, git.program, call.cwd))));
    child.once("close", (status, signal) =>
      settle(() => {
        if (status !== null) return resolve({ status, output: Buffer.concat(output), stderr });
        reject(new GitFault("git-failed", `git was ended by ${signal}`));
      }),
    );
    child.stdout.on("data", (chunk: Buffer) => {
      try {
        if (call.onOutput !== undefined) return call.onOutput(chunk);
      } catch (error) {
        return abandon(error as Error);
      }
      size += chunk.length;
      if (size > mostOutput) return abandon(new GitFault("git-failed", "git said far more than expected"));
      output.push(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr = (stderr + chunk.toString("utf8")).slice(-mostStderr);
    });
    // It may end without reading everything; its exit status tells.
    child.stdin.on("error", () => {});
    child.stdin.end(call.input ?? "");
  });
}

/** The same, for calls that have no business failing. */
export async function demand(git: Git, args: readonly string[], call: GitCall): Promise<GitAnswer> {
  const answer = await runGit(git, args, call);
  if (answer.status !== 0) throw failed(args, answer);
  return answer;
}

export function failed(args: readonly string[], { status, stderr }: GitAnswer): GitFault {
  const verb = args.find((arg, at) => !arg.startsWith("-") && args[at - 1] !== "-c") ?? "";
  const said = printable(stderr.trim(), 400) || `exit status ${status}`;
  return new GitFault("git-failed", `git ${verb}: ${said}`);
}

export const tookTooLong = (): GitFault => new GitFault("took-too-long", "git did not finish before the deadline");

/** Node says ENOENT of a missing program and of a missing folder alike. */
function nameFault(error: NodeJS.ErrnoException, program: string, cwd: string): GitFault {
  if (error.code !== "ENOENT" && error.code !== "EACCES" && error.code !== "ENOTDIR")
    return new GitFault("git-failed", `git could not be started: ${error.message}`);
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
    return new GitFault("folder-gone", `${printable(cwd)} is no longer there`);
  return new GitFault("git-missing", `there is no program ${printable(program)} to run`);
}

/** Politely first: git then takes its lock files away. Does not wait for a process that cannot even be killed. */
function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const pid = child.pid;
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return resolve(release(child));
    const force = setTimeout(() => {
      signalGroup(pid, "SIGKILL");
      resolve(release(child));
    }, endPolitelyWithin);
    child.once("exit", () => {
      clearTimeout(force);
      resolve(release(child));
    });
    signalGroup(pid, "SIGTERM");
  });
}

function release(child: ChildProcess): void {
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
