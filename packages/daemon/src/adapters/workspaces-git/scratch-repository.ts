import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { openPlainFile } from "@rouse/holder";
import { type Repository, readShortFile } from "./find-repository.ts";
import { plainEnvironment, withSettings } from "./git-surroundings.ts";
import { type IncomingObjects, makeIncoming } from "./incoming-objects.ts";
import { demand, type Git, type GitAnswer, type GitCall, runGit, tookTooLong } from "./run-git.ts";
import { sweepAbandoned } from "./sweep-abandoned.ts";

/**
 * A repository of our own over the same work tree and the same objects, with a copy of the index. Git reads its configuration from here, so nothing
 * that an agent wrote into the real one (filters, hooks, a monitor of files) is ever run, and writes its index here, so the real one may be locked,
 * damaged or in the middle of a merge.
 */
export interface ScratchRepository {
  readonly index: string;
  /** Rejects when git does not say that it worked. */
  git(args: readonly string[], call?: Partial<GitCall>): Promise<GitAnswer>;
  /** Any exit status is an answer. */
  tryGit(args: readonly string[], call?: Partial<GitCall>): Promise<GitAnswer>;
  /** From now on files are taken byte for byte: for those that git cannot convert as their attributes ask. */
  convertNothing(): Promise<void>;
  /** What was written so far becomes part of the real repository. */
  keepObjects(): Promise<void>;
  remove(): Promise<void>;
}

const prefix = "rouse-snapshot-";
const mostRules = 1024 * 1024;
/** That of about two million files. A larger one may be no index at all, and the disk it would be copied to is ours. */
const mostIndex = 256 * 1024 * 1024;

export async function makeScratch(place: string, repository: Repository, git: Git): Promise<ScratchRepository> {
  await mkdir(place, { recursive: true, mode: 0o700 });
  await sweepAbandoned(place, prefix);
  const incoming = await makeIncoming(join(repository.commonDir, "objects"));
  const folder = await mkdtemp(join(await realpath(place), prefix)).catch(async (error: unknown) => {
    await incoming.remove();
    throw error;
  });
  const scratch = scratchAt(folder, incoming, repository, git);
  try {
    await furnish(folder, repository);
    await copyIndex(folder, repository, git);
  } catch (error) {
    await scratch.remove();
    throw error;
  }
  return scratch;
}

function scratchAt(folder: string, incoming: IncomingObjects, repository: Repository, git: Git): ScratchRepository {
  const environment = {
    ...plainEnvironment(),
    GIT_DIR: folder,
    GIT_WORK_TREE: repository.top,
    GIT_OBJECT_DIRECTORY: incoming.folder,
  };
  const own = repository.fileSettings.flatMap((setting) => ["-c", setting]);
  const withOwn = (args: readonly string[]): string[] => withSettings([...own, ...args]);
  const callWith = (call: Partial<GitCall> = {}): GitCall => ({
    cwd: repository.top,
    ...call,
    environment: { ...environment, ...call.environment },
  });
  return {
    index: join(folder, "index"),
    git: (args, call) => demand(git, withOwn(args), callWith(call)),
    tryGit: (args, call) => runGit(git, withOwn(args), callWith(call)),
    convertNothing: () =>
      writeFile(join(folder, "info", "attributes"), "* -filter -text -ident -working-tree-encoding\n"),
    keepObjects: () => incoming.moveIn(),
    remove: async () => {
      await Promise.all([incoming.remove(), rm(folder, { recursive: true, force: true, maxRetries: 3 })]);
    },
  };
}

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
  // The last word on attributes. A filter is a program, and even the well known ones run others that a repository names.
  await writeFile(join(folder, "info", "attributes"), `${attributes}\n* -filter\n`);
}

/** Our own files are no work of an agent, should its folder be above them. */
function excludeOwn(folder: string, top: string): string {
  const inside = relative(top, folder);
  if (inside === ".." || inside.startsWith(`..${sep}`)) return "";
  return `/${inside
    .split(sep)
    .join("/")
    .replace(/[\\*?[!# ]/g, "\\$&")}/\n`;
}

const readRules = async (path: string): Promise<string> => (await readShortFile(path, mostRules)) ?? "";

/** With what git knows of each file's size and times, so that only what changed is read again. One that is too large is taken for damaged. */
async function copyIndex(folder: string, { gitDir }: Repository, { deadline }: Git): Promise<void> {
  const file = await openPlainFile(join(gitDir, "index")).catch(() => null);
  if (file === null) return;
  const to = join(folder, "index");
  const { mtimeNs, size } = await file.stat({ bigint: true });
  if (size > mostIndex) return file.close();
  // It may grow while it is read.
  const from = file.createReadStream({ highWaterMark: 1024 * 1024, end: mostIndex - 1 });
  await pipeline(from, createWriteStream(to, { mode: 0o600 }), { signal: deadline }).catch((error: unknown) => {
    throw deadline.aborted ? tookTooLong() : error;
  });
  // A file as young as the index may have changed unnoticed, and git looks twice. With a younger index it would not; so never later, to the microsecond.
  const time = Number(mtimeNs / 1000n - 1n) / 1_000_000;
  await utimes(to, time, time);
  for (const name of await readdir(gitDir)) {
    // An index may be split in two; the shared part is only read.
    if (/^sharedindex\.[0-9a-f]+$/.test(name)) await symlink(join(gitDir, name), join(folder, name));
  }
}
