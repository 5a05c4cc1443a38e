import { lstat, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { printable } from "@rouse/contract";
import { openPlainFile, readBounded } from "@rouse/holder";
import {
  demand,
  failed,
  type Git,
  type GitAnswer,
  type GitCall,
  GitFault,
  runGit,
  withoutConfiguredHooks,
} from "./run-git.ts";

/** A repository with its work tree, as it is on disk. */
export interface Repository {
  /** Top of the work tree. */
  readonly top: string;
  /** The git folder of this work tree: its index is there. */
  readonly gitDir: string;
  /** The git folder that all work trees share: the objects are there. */
  readonly commonDir: string;
  readonly objectFormat: "sha1" | "sha256";
  /** `key=value`: how this repository reads files and who may use what is written. None of them names a program. */
  readonly fileSettings: readonly string[];
  /** Asks git about the repository itself, its references for instance. */
  ask(args: readonly string[], input?: string): Promise<GitAnswer>;
  /** Asks git for a long answer, which `onOutput` takes in chunks. */
  read(args: readonly string[], onOutput: (chunk: Buffer) => void): Promise<GitAnswer>;
}

const fileSettings =
  "filemode|symlinks|ignorecase|precomposeunicode|autocrlf|eol|excludesfile|attributesfile|trustctime|checkstat|sharedrepository";
const longestGitFile = 64 * 1024;

/** The repository that a folder belongs to; `null` without one, or for a bare one. */
export async function findRepository(folder: string, git: Git): Promise<Repository | null> {
  const start = await enter(folder);
  if (!(await hasAbove(start))) return null;
  const found = await locate(start, git);
  if (found === null) return null;
  const { top, gitDir } = found;
  const base = { GIT_DIR: gitDir, GIT_WORK_TREE: top };
  const config = await readConfig(git, { cwd: top, environment: base });
  const environment = { ...base, ...config.withoutHooks };
  return {
    ...found,
    commonDir: await commonDirOf(gitDir),
    fileSettings: config.fileSettings,
    ask: (args, input = "") => runGit(git, args, { cwd: top, environment, input }),
    read: (args, onOutput) => demand(git, args, { cwd: top, environment, onOutput }),
  };
}

async function enter(folder: string): Promise<string> {
  const real = await realpath(folder).catch(() => null);
  const found = real === null ? null : await stat(real).catch(() => null);
  if (real === null || found === null) throw new GitFault("folder-gone", `${printable(folder)} is not there`);
  if (!found.isDirectory()) throw new GitFault("folder-gone", `${printable(folder)} is not a folder`);
  return real;
}

/** A folder without any `.git` above it needs no call of git, so a machine without git can answer for it. */
async function hasAbove(start: string): Promise<boolean> {
  for (const folder of upwards(start)) {
    if ((await lstat(join(folder, ".git")).catch(() => null)) !== null) return true;
  }
  return false;
}

/** Git itself looks, because it also refuses repositories that belong to somebody else. */
async function locate(start: string, git: Git) {
  const args = ["rev-parse", "--is-bare-repository", "--show-object-format", "--absolute-git-dir"];
  const answer = await runGit(git, args, { cwd: start });
  if (answer.status !== 0) {
    if (/^fatal: not a git repository \(or any/m.test(answer.stderr)) return null;
    throw failed(args, answer);
  }
  const [, bare, format, path = ""] = /^(.*)\n(.*)\n(.*)\n$/s.exec(answer.output.toString("utf8")) ?? [];
  const gitDir = await realpath(path);
  const top = await topOf(start, gitDir);
  if (bare === "true" && (await isFile(join(gitDir, "index"))))
    throw new GitFault("git-failed", `${printable(gitDir)} has an index but says that it is bare (core.bare)`);
  if (bare === "true" || top === null) return null;
  return { top, gitDir, objectFormat: format === "sha256" ? ("sha256" as const) : ("sha1" as const) };
}

/**
 * The folder whose `.git` leads to this repository. Git's own answer is not used: `core.worktree` could make us save a
 * person's whole home for an agent that may not even read it.
 */
async function topOf(start: string, gitDir: string): Promise<string | null> {
  for (const folder of upwards(start)) {
    if ((await whereLeads(join(folder, ".git"))) === gitDir) return folder;
  }
  return null;
}

async function whereLeads(entry: string): Promise<string | null> {
  try {
    if ((await stat(entry)).isDirectory()) return await realpath(entry);
    const path = /^gitdir: (.+?)[\r\n]*$/s.exec((await readShortFile(entry, longestGitFile)) ?? "")?.[1];
    return path === undefined ? null : await realpath(resolve(dirname(entry), path));
  } catch {
    return null;
  }
}

async function commonDirOf(gitDir: string): Promise<string> {
  const file = join(gitDir, "commondir");
  if ((await lstat(file).catch(() => null)) === null) return gitDir;
  const written = await readShortFile(file, longestGitFile);
  if (written === null) throw new GitFault("git-failed", `${printable(file)} cannot be read as a file`);
  return realpath(resolve(gitDir, written.replace(/\n+$/, "")));
}

/** Reads a file that an agent can replace, without waiting for a pipe; `null` when it cannot be read or is too long. */
export async function readShortFile(path: string, longest: number): Promise<string | null> {
  const handle = await openPlainFile(path).catch(() => null);
  if (handle === null) return null;
  try {
    return (await readBounded(handle, longest))?.toString("utf8") ?? null;
  } finally {
    await handle.close();
  }
}

/** The settings of a repository that matter to us, and the environment in which its configured hooks do not run. */
export async function readConfig(git: Git, call: GitCall) {
  const wanted = `^(core\\.(${fileSettings})|hook\\..*)$`;
  // Status 1: none of them is set.
  const { output } = await runGit(git, ["config", "-z", "--get-regexp", wanted], call);
  const entries = output.toString("utf8").split("\0").filter(Boolean).map(splitEntry);
  const names = entries.flatMap(({ key }) => /^hook\.(.+)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return {
    fileSettings: entries
      .filter(({ key }) => key.startsWith("core."))
      .map(({ key, value }) => (value === null ? key : `${key}=${value}`)),
    withoutHooks: withoutConfiguredHooks([...new Set(names)]),
  };
}

function splitEntry(entry: string): { key: string; value: string | null } {
  const at = entry.indexOf("\n");
  return at === -1 ? { key: entry, value: null } : { key: entry.slice(0, at), value: entry.slice(at + 1) };
}

function* upwards(folder: string): Generator<string> {
  for (let at = folder; ; at = dirname(at)) {
    yield at;
    if (at === dirname(at)) return;
  }
}

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isFile() === true;
