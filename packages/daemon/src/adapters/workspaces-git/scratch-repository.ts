import { createWriteStream } from "node:fs";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { type DurationMs, hours } from "@rouse/contract";
import { openPlainFile } from "@rouse/holder";
import { type Repository, readShortFile } from "./find-repository.ts";
import { demand, type Git, type GitAnswer, type GitCall, runGit, tookTooLong } from "./run-git.ts";

/**
 * A repository of our own over the same work tree and the same objects, with a copy of the index. Git reads its
 * configuration from here, so nothing that an agent wrote into the real one (filters, hooks, a file monitor) is ever
 * run. Git writes its index here, so the real one may be locked, damaged or in the middle of a merge.
 */
export interface ScratchRepository {
  readonly index: string;
  /** Rejects on any exit status but 0. */
  git(args: readonly string[], call?: Partial<GitCall>): Promise<GitAnswer>;
  /** Any exit status is an answer. */
  tryGit(args: readonly string[], call?: Partial<GitCall>): Promise<GitAnswer>;
  /** From now on files are taken byte for byte: for those that git cannot convert as their attributes ask. */
  convertNothing(): Promise<void>;
  /** Moves the objects written so far into the real repository. */
  keepObjects(): Promise<void>;
  remove(): Promise<void>;
}

const scratchPrefix = "rouse-snapshot-";
/** Begins as git's own folders do, so that `git gc` removes what a killed monitor left, should we not come back. */
const incomingPrefix = "tmp_objdir-rouse-";
const mostRules = 1024 * 1024;
/** The index of about two million files. A larger one may be no index at all, and it would be copied to our disk. */
const mostIndex = 256 * 1024 * 1024;
/** No snapshot takes that long: the process that made the folder was killed. */
const abandonedAfter: DurationMs = hours(2);

export async function makeScratch(place: string, repository: Repository, git: Git): Promise<ScratchRepository> {
  await mkdir(place, { recursive: true, mode: 0o700 });
  await sweepAbandoned(place, scratchPrefix);
  const objects = join(repository.commonDir, "objects");
  const incoming = await makeIncoming(objects);
  const folder = await mkdtemp(join(await realpath(place), scratchPrefix)).catch(async (error: unknown) => {
    await removeFolder(incoming);
    throw error;
  });
  const remove = async (): Promise<void> => void (await Promise.all([incoming, folder].map(removeFolder)));
  try {
    await furnish(folder, repository);
    await copyIndex(folder, repository, git);
  } catch (error) {
    await remove();
    throw error;
  }
  const environment = { GIT_DIR: folder, GIT_WORK_TREE: repository.top, GIT_OBJECT_DIRECTORY: incoming };
  const own = repository.fileSettings.flatMap((setting) => ["-c", setting]);
  const callWith = (call: Partial<GitCall> = {}): GitCall => ({
    cwd: repository.top,
    ...call,
    environment: { ...environment, ...call.environment },
  });
  return {
    index: join(folder, "index"),
    git: (args, call) => demand(git, [...own, ...args], callWith(call)),
    tryGit: (args, call) => runGit(git, [...own, ...args], callWith(call)),
    convertNothing: () =>
      writeFile(join(folder, "info", "attributes"), "* -filter -text -ident -working-tree-encoding\n"),
    keepObjects: () => moveObjects(incoming, objects),
    remove,
  };
}

const removeFolder = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 });

async function furnish(folder: string, { commonDir, objectFormat, top }: Repository): Promise<void> {
  const config =
    objectFormat === "sha1"
      ? "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
      : `[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = ${objectFormat}\n`;
  await mkdir(join(folder, "refs"));
  await mkdir(join(folder, "info"));
  await writeFile(join(folder, "HEAD"), "ref: refs/heads/none\n");
  await writeFile(join(folder, "config"), config);
  const ignored = await readRules(join(commonDir, "info", "exclude"));
  await writeFile(join(folder, "info", "exclude"), `${ignored}\n${excludeOwn(folder, top)}`);
  const attributes = await readRules(join(commonDir, "info", "attributes"));
  // The last line wins. A filter is a program, and even the well-known ones run others that a repository names.
  await writeFile(join(folder, "info", "attributes"), `${attributes}\n* -filter\n`);
}

/** Excludes our own files where the agent's folder is above them. */
function excludeOwn(folder: string, top: string): string {
  const inside = relative(top, folder);
  if (inside === ".." || inside.startsWith(`..${sep}`)) return "";
  return `/${inside
    .split(sep)
    .join("/")
    .replace(/[\\*?[!# ]/g, "\\$&")}/\n`;
}

const readRules = async (path: string): Promise<string> => (await readShortFile(path, mostRules)) ?? "";

/**
 * Copies the index with what git knows of each file's size and times, so that only changed files are read again. An
 * index that is too large is taken for damaged.
 */
async function copyIndex(folder: string, { gitDir }: Repository, { deadline }: Git): Promise<void> {
  const file = await openPlainFile(join(gitDir, "index")).catch(() => null);
  if (file === null) return;
  const to = join(folder, "index");
  const { mtimeNs, size } = await file.stat({ bigint: true });
  if (size > mostIndex) return file.close();
  // The index may grow while it is read.
  const from = file.createReadStream({ highWaterMark: 1024 * 1024, end: mostIndex - 1 });
  await pipeline(from, createWriteStream(to, { mode: 0o600 }), { signal: deadline }).catch((error: unknown) => {
    throw deadline.aborted ? tookTooLong() : error;
  });
  // Git reads a file again that is as young as the index, because it may have changed unnoticed. A copy with a later
  // time would end that, so the copy is dated a microsecond earlier.
  const time = Number(mtimeNs / 1000n - 1n) / 1_000_000;
  await utimes(to, time, time);
  for (const name of await readdir(gitDir)) {
    // A split index has a shared part, which is only read.
    if (/^sharedindex\.[0-9a-f]+$/.test(name)) await symlink(join(gitDir, name), join(folder, name));
  }
}

/**
 * The folder git writes new objects to until all of them are there: a git that is killed leaves its half-written files
 * here and not in the repository. It lies on the repository's disk, so that objects are moved and not copied.
 */
async function makeIncoming(objects: string): Promise<string> {
  await sweepAbandoned(objects, incomingPrefix);
  const folder = await mkdtemp(join(objects, incomingPrefix));
  try {
    await mkdir(join(folder, "info"));
    // Relative: a folder's name could hold characters that mean something in this file.
    await writeFile(join(folder, "info", "alternates"), "..\n");
  } catch (error) {
    await removeFolder(folder);
    throw error;
  }
  return folder;
}

async function moveObjects(from: string, objects: string): Promise<void> {
  const shelves = (await readdir(from)).filter((name) => /^(?:[0-9a-f]{2}|pack)$/.test(name));
  for (const shelf of shelves) {
    const files = await readdir(join(from, shelf));
    await makeShelf(join(objects, shelf), join(from, shelf));
    const move = (name: string) => rename(join(from, shelf, name), join(objects, shelf, name));
    // Git finds a pack by its index, so the index is moved last.
    await Promise.all(files.filter((name) => !isIndex(name)).map(move));
    await Promise.all(files.filter(isIndex).map(move));
  }
}

/** A new folder gets the mode that git gave to its own: in a shared repository others write there as well. */
async function makeShelf(shelf: string, like: string): Promise<void> {
  const made = await mkdir(shelf, { recursive: true });
  if (made !== undefined) await chmod(shelf, (await stat(like)).mode & 0o7777);
}

const isIndex = (name: string): boolean => name.endsWith(".idx");

/** Removes the folders of snapshots whose process was killed. */
async function sweepAbandoned(place: string, prefix: string): Promise<void> {
  const entries = await readdir(place, { withFileTypes: true });
  for (const entry of entries.filter((one) => one.isDirectory() && one.name.startsWith(prefix))) {
    const folder = join(place, entry.name);
    const found = await stat(folder).catch(() => null);
    if (found === null || found.uid !== process.getuid?.() || Date.now() - found.mtimeMs < abandonedAfter) continue;
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}
