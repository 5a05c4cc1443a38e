import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { type DurationMs, printable, seconds } from "@rouse/contract";
import type { WorkspaceFault } from "../../ports/workspaces.ts";

/** Why git gave no answer. It stays inside this adapter: at its edge it becomes an outcome. */
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
  /** In addition to `plainEnvironment`. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | string;
  /** Takes the output as it comes; otherwise all of it is in the answer. */
  readonly onOutput?: (chunk: Buffer) => void;
}

export interface GitAnswer {
  readonly status: number;
  readonly output: Buffer;
  /** The last 8 kB that git wrote to stderr. */
  readonly stderr: string;
}

const mostOutput = 8 * 1024 * 1024;
const mostStderr = 8 * 1024;
const endPolitelyWithin: DurationMs = seconds(1);

/** Runs git with `settings` to its end. Any exit status is an answer; rejects with `GitFault` when there is none. */
export function runGit(git: Git, args: readonly string[], call: GitCall): Promise<GitAnswer> {
  return new Promise((resolve, reject) => {
    if (git.deadline.aborted) return reject(tookTooLong());
    const output: Buffer[] = [];
    let size = 0;
    let stderr = "";
    // Git gets a process group of its own, so that whatever it starts ends with it.
    const env = { ...plainEnvironment(), ...call.environment };
    const child = spawn(git.program, [...settings, ...args], { cwd: call.cwd, env, detached: true });

    let settled = false;
    const settle = (finish: () => void): void => {
      git.deadline.removeEventListener("abort", giveUp);
      // A process that we ended emits `close` as well.
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
    // Git may end without reading all of its input; its exit status tells.
    child.stdin.on("error", () => {});
    child.stdin.end(call.input ?? "");
  });
}

/** Runs git and rejects with `GitFault` on any exit status but 0. */
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

/** Node reports ENOENT for a missing program and for a missing folder alike. */
function nameFault(error: NodeJS.ErrnoException, program: string, cwd: string): GitFault {
  if (error.code !== "ENOENT" && error.code !== "EACCES" && error.code !== "ENOTDIR")
    return new GitFault("git-failed", `git could not be started: ${error.message}`);
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
    return new GitFault("folder-gone", `${printable(cwd)} is no longer there`);
  return new GitFault("git-missing", `there is no program ${printable(program)} to run`);
}

/** SIGTERM first: git then removes its lock files. A process that cannot even be killed is not waited for. */
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

/**
 * Every call of git gets these settings, so that it does what we ask and nothing else. An agent may have written the
 * repository's own configuration: what in it names a program is overruled here or not read (see scratch-repository.ts).
 */
const settings: readonly string[] = [
  // No file can lie below /dev/null, so no hook runs, not even one for references.
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.logAllRefUpdates=false",
  // Line ends that cannot be restored exactly are no reason to save nothing.
  "core.safecrlf=false",
  // A reference to objects that were lost in a power cut would break the person's repository.
  "core.fsync=committed",
  "core.fsyncMethod=batch",
  // Restoring files would go on into submodules, by their own configuration.
  "submodule.recurse=false",
  "i18n.commitEncoding=UTF-8",
].flatMap((setting) => ["-c", setting]);

/** What git needs to find itself and the person's settings. Our tokens and any GIT_* variable are not passed on. */
const passedOn = ["PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR"];

const plainEnvironment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(passedOn.map((name) => [name, process.env[name]])),
  // We parse stderr, so it must be English.
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  // Replace refs (`git replace`) would show another object under the name of a commit.
  GIT_NO_REPLACE_OBJECTS: "1",
  // A clone that lacks objects would fetch them, by a program that its configuration names.
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none",
});

/** Switches off, by name, the hooks that a configuration names instead of keeping them in a folder. */
export function withoutConfiguredHooks(names: readonly string[]): Record<string, string> {
  const pairs = names.flatMap((name, n) => [
    [`GIT_CONFIG_KEY_${n}`, `hook.${name}.enabled`] as const,
    [`GIT_CONFIG_VALUE_${n}`, "false"] as const,
  ]);
  return { GIT_CONFIG_COUNT: String(names.length), ...Object.fromEntries(pairs) };
}

/** The environment of `git commit-tree`, so that a commit is Rouse's, made at `date`. */
export function commitAs(date: string): Record<string, string> {
  const fields = Object.entries({ NAME: "Rouse", EMAIL: "rouse@localhost", DATE: date });
  return Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((who) => fields.map(([field, value]) => [`GIT_${who}_${field}`, value])),
  );
}

const longestRecord = 1024 * 1024;

/** Splits a stream at its NULs: file names may hold any other byte. A record is valid only while `take` runs. */
export function atEachNul(take: (record: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, start)) {
      take(bytes.subarray(start, end));
      start = end + 1;
    }
    rest = Buffer.from(bytes.subarray(start));
    if (rest.length > longestRecord) throw new GitFault("git-failed", "git gave an answer of no known form");
  };
}

/** Hands over the NUL-terminated records of a stream in groups of `size`. */
export function atEachGroup(size: number, take: (...group: Buffer[]) => void): (chunk: Buffer) => void {
  let group: Buffer[] = [];
  return atEachNul((record) => {
    group.push(Buffer.from(record));
    if (group.length < size) return;
    take(...group);
    group = [];
  });
}

/** Records as git reads them from its input with `-z`. */
export function joinWithNuls(records: readonly Buffer[], before = ""): Buffer {
  const nul = Buffer.from([0]);
  const lead = Buffer.from(before);
  return Buffer.concat(records.flatMap((record) => [lead, record, nul]));
}

/** The path of a file below `top`. Paths are bytes: nobody promised that they are text. */
export const pathIn = (top: string, path: Buffer): Buffer => Buffer.concat([Buffer.from(`${top}/`), path]);
