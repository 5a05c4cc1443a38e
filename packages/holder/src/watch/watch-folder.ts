import { type Dir, lstatSync, opendirSync, readFileSync, realpathSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { attempt } from "../attempt.ts";
import { unescapeSpaces } from "../processes/cgroup.ts";

export type FolderWatch = ReturnType<typeof watchFolder>;

interface Pace {
  /** From the start of one round to the start of the next. */
  readonly roundMs: number;
  readonly mostFolders: number;
  readonly mostEntries: number;
}

/** A change shows within 30 s. In a larger folder a round takes so long that "no change" would mean nothing. */
const usual: Pace = { roundMs: 15_000, mostFolders: 10_000, mostEntries: 100_000 };
/** The terminal waits meanwhile, so a round is made in slices, with pauses between. */
const sliceMs = 3;
const pauseMs = 50;
/** On a busy machine a slice may be over before it began: it takes this many steps all the same. */
const stepsAtOnce = 64;
/** A folder that is too large is tried again now and then: it may have been cleaned up. */
const tryAgainMs = 300_000;
const mostHot = 32;
/** `.git`: our own snapshots write there, and editors refresh its index. `node_modules`: very large. */
const leftOutNames = new Set([".git", "node_modules"]);

interface Round {
  readonly startedAt: number;
  readonly queue: string[];
  next: number;
  /** Where the folders that changed in the last round end in the queue. */
  hot: number;
  readonly prints: Map<string, number>;
  entries: number;
  readonly others: ReadonlySet<string>;
  open: { readonly path: string; readonly dir: Dir; print: number } | null;
  moved: boolean;
}

/**
 * Counts the folders below a folder in which something has changed, whoever changed it. Files are compared by inode,
 * size and time of change, one number per folder, so no clock is needed and little is kept. `fs.watch` would need a
 * watch for every folder, and a user has few of those.
 */
export function watchFolder(
  folder: string,
  leftOut: readonly string[] = [],
  { roundMs, mostFolders, mostEntries }: Pace = usual,
) {
  let changes: number | null = null;
  let known: Map<string, number> | null = null;
  let hot: readonly string[] = [];
  let round: Round | null = null;
  let waiting: (() => void)[] = [];
  let timer = setTimeout(begin, 0).unref();

  function begin(): void {
    const root = findRoot(folder, leftOut);
    if (root === null) return giveUp(roundMs);
    const { isLocal, below } = readMounts(root);
    if (!isLocal) return giveUp(tryAgainMs);
    const others = new Set([...below, ...leftOut.map(realPath)]);
    const queue = known === null ? [root] : [...hot, root];
    const prints = new Map<string, number>();
    round = {
      startedAt: performance.now(),
      queue,
      next: 0,
      hot: queue.length - 1,
      prints,
      entries: 0,
      others,
      open: null,
      moved: false,
    };
    slice();
  }

  function slice(): void {
    if (round === null) return;
    const end = performance.now() + sliceMs;
    for (let steps = 1; steps % stepsAtOnce !== 0 || performance.now() < end; steps++) {
      const step = goOn(round);
      if (step === "too-large") return giveUp(tryAgainMs);
      if (step === "over") return finish(round);
    }
    timer = setTimeout(slice, pauseMs).unref();
  }

  /** One step: a file, or the begin or end of a folder. */
  function goOn(on: Round): "more" | "over" | "too-large" {
    if (on.open !== null) return readOne(on, on.open);
    // A change is known already: the rest of the round would cost more and tell nothing.
    if (on.moved && on.next === on.hot) return "over";
    const path = on.queue[on.next++];
    if (path === undefined) return "over";
    if (on.prints.has(path)) return "more";
    if (on.prints.size >= mostFolders) return "too-large";
    const dir = attempt(() => opendirSync(path, { bufferSize: 64 }));
    on.prints.set(path, 0);
    if (dir !== null) on.open = { path, dir, print: 0 };
    return "more";
  }

  function readOne(on: Round, open: NonNullable<Round["open"]>): "more" | "too-large" {
    const entry = attempt(() => open.dir.readSync());
    if (entry === null) {
      open.dir.closeSync();
      on.open = null;
      compare(on, open.path, open.print);
      return "more";
    }
    if (++on.entries > mostEntries) return "too-large";
    const path = open.path === "/" ? `/${entry.name}` : `${open.path}/${entry.name}`;
    if (leftOutNames.has(entry.name) || on.others.has(path)) return "more";
    if (entry.isDirectory()) {
      on.queue.push(path);
      open.print = (open.print + printOfName(entry.name)) | 0;
    } else open.print = (open.print + printOfFile(path)) | 0;
    return "more";
  }

  function compare(on: Round, path: string, print: number): void {
    on.prints.set(path, print);
    const before = known?.get(path);
    // A new folder shows in the one above it.
    if (before === undefined || before === print) return;
    changes = (changes ?? 0) + 1;
    on.moved = true;
    hot = [path, ...hot.filter((each) => each !== path)].slice(0, mostHot);
  }

  function finish(on: Round): void {
    const isWhole = on.next >= on.queue.length && on.open === null;
    if (isWhole) known = on.prints;
    else for (const [path, print] of on.prints) known?.set(path, print);
    changes ??= 0;
    rest(Math.max(pauseMs, on.startedAt + roundMs - performance.now()));
  }

  function giveUp(againMs: number): void {
    changes = null;
    known = null;
    hot = [];
    rest(againMs);
  }

  function rest(ms: number): void {
    leave();
    timer = setTimeout(begin, ms).unref();
  }

  function leave(): void {
    clearTimeout(timer);
    round?.open?.dir.closeSync();
    round = null;
    for (const resolve of waiting) resolve();
    waiting = [];
  }

  return {
    /** How many changes were seen so far; `null` when the folder cannot be looked at, or has not been yet. */
    changes: () => changes,
    /** Begins a round at once. Resolves when that round, or the one under way, is over. */
    look: () =>
      new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (round !== null) return;
        clearTimeout(timer);
        begin();
      }),
    stop: leave,
  };
}

/** `null`: it cannot be read, is ours, or is shared by the whole machine, where a change says nothing. */
function findRoot(folder: string, leftOut: readonly string[]): string | null {
  const root = attempt(() => realpathSync(folder));
  if (root === null || attempt(() => opendirSync(root).closeSync()) === null) return null;
  if ([homedir(), tmpdir()].some((shared) => isWithin(realPath(shared), root))) return null;
  return leftOut.some((ours) => isWithin(root, realPath(ours))) ? null : root;
}

const realPath = (path: string): string => attempt(() => realpathSync(path)) ?? path;

/** A file that is gone again adds nothing; that changes its folder. */
function printOfFile(path: string): number {
  const stat = attempt(() => lstatSync(path));
  return stat === null ? 0 : mix(mix(mix(0, stat.ino), stat.ctimeMs * 1000), stat.size);
}

function printOfName(name: string): number {
  let print = 0;
  for (let at = 0; at < name.length; at++) print = mix(print, name.charCodeAt(at));
  return print;
}

/** Each step is reversible, so two prints that differ in one number differ. */
function mix(print: number, value: number): number {
  const mixed = Math.imul(print ^ (value % 2 ** 32), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

/** File systems on this machine. Others may hang while a network is away, and block this process. */
const local = new Set(
  "aufs bcachefs btrfs ecryptfs exfat ext2 ext3 ext4 f2fs hfsplus jfs msdos nilfs2 ntfs3 overlay ramfs reiserfs tmpfs vfat virtiofs xfs zfs".split(
    " ",
  ),
);

/** Whether a folder's file system is on this machine, and which folders below it belong to another one. */
export function readMounts(
  folder: string,
  mounts: string = readFileSync("/proc/self/mountinfo", "utf8"),
): { readonly isLocal: boolean; readonly below: ReadonlySet<string> } {
  const below = new Set<string>();
  let holds = { point: "", type: "" };
  for (const line of mounts.split("\n")) {
    const [, , , , escaped = ""] = line.split(" ");
    const point = unescapeSpaces(escaped);
    const type = / - (\S+) /.exec(line)?.[1] ?? "";
    if (point !== folder && isWithin(point, folder)) below.add(point);
    // Of two mounts at the same place the later one covers the other.
    if (point !== "" && isWithin(folder, point) && point.length >= holds.point.length) holds = { point, type };
  }
  return { isLocal: local.has(holds.type), below };
}

const isWithin = (inner: string, outer: string): boolean =>
  inner === outer || inner.startsWith(outer === "/" ? "/" : `${outer}/`);
