import { randomBytes } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { TreeTier } from "@rouse/contract";

/**
 * A control group (cgroup v2) that holds one agent: its processes cannot leave it by forking, by sessions or by
 * clearing their environment, and the kernel ends all of them at once. It has two halves, so that the holder does not
 * end with its agent.
 */
export type AgentGroup = ReturnType<typeof groupAt>;

/**
 * Makes a group and moves this process into the holder's half: where that works, starting an agent in the other half
 * will too. Removes groups that killed holders left. `null`: this host has no control groups for us.
 */
export function makeGroup(name: string): AgentGroup | null {
  const place = whereGroupsGo();
  if (place === null) return null;
  sweep(place.folder);
  // Another holder may sweep between the moment the group is made and the moment we move into it.
  return makeGroupIn(place, name) ?? makeGroupIn(place, name);
}

function makeGroupIn({ folder }: Place, name: string): AgentGroup | null {
  const whole = join(folder, nameGroup(name));
  const group = groupAt(join(whole, "agent"));
  const made = attempt(() => {
    mkdirSync(join(whole, "holder"), { recursive: true });
    mkdirSync(group.folder);
    moveTo(join(whole, "holder"));
  });
  if (!made) group.remove();
  return made ? group : null;
}

/** Removes the holder's half first: while the holder lives, that fails, and the rest stays. */
function sweep(folder: string): void {
  for (const whole of groupsUnder(folder, 1).slice(1)) {
    const group = groupAt(join(whole, "agent"));
    if (group.members().length > 0) continue;
    if (attempt(() => rmdirSync(join(whole, "holder"))) || !existsSync(join(whole, "holder"))) group.remove();
  }
}

/** The group at a path that was stored earlier. `null` when it is gone, or is not a group that `makeGroup` made. */
export function openGroup(folder: string): AgentGroup | null {
  const ours = basename(folder) === "agent" && basename(dirname(dirname(folder))) === "rouse-agents";
  return ours && existsSync(join(folder, "cgroup.procs")) ? groupAt(folder) : null;
}

/**
 * A process that may write to the group above those of all agents can move itself out of its own: root, and the owner
 * of the groups. A process that is gone counts as one that may not.
 */
export function mayLeaveGroup(folder: string, pid: number): boolean {
  const owner = ownerOf(join(dirname(dirname(folder)), "cgroup.procs"));
  const user = ownerOf(`/proc/${pid}`);
  return user !== null && (user === 0 || user === owner);
}

function ownerOf(path: string): number | null {
  try {
    return statSync(path).uid;
  } catch {
    return null;
  }
}

function groupAt(folder: string) {
  const holder = join(dirname(folder), "holder");
  const members = (): number[] => [...new Set(groupsUnder(folder).flatMap(readMembers))];
  const setFrozen = (frozen: boolean): void => void tell(join(folder, "cgroup.freeze"), frozen ? "1" : "0");
  return {
    /** The agent's half. */
    folder,
    /** The pids in it, including groups that the agent made below. */
    members,
    freeze: () => setFrozen(true),
    thaw: () => setFrozen(false),
    /**
     * Calls `spawn`, which has to fork before it returns, while this process is in the agent's half. Afterwards it is
     * in the other, also when `spawn` throws.
     */
    spawnInside<T>(spawn: () => T): T {
      moveTo(folder);
      try {
        return spawn();
      } finally {
        goBack(holder);
      }
    },
    /** Kills all processes in it. False when the kernel refused, or when this process is in it. */
    kill(): boolean {
      if (members().includes(process.pid)) return false;
      if (existsSync(join(folder, "cgroup.kill"))) return tell(join(folder, "cgroup.kill"), "1");
      // Before Linux 5.14. Frozen processes cannot fork, and SIGKILL reaches them all the same.
      setFrozen(true);
      for (const pid of members()) attempt(() => process.kill(pid, "SIGKILL"));
      setFrozen(false);
      return true;
    },
    /**
     * Removes the group if the agent's half is empty. From the holder's half this process leaves for the folder above.
     */
    remove(): void {
      if (members().length > 0) return;
      if (readMembers(holder).includes(process.pid)) attempt(() => moveTo(dirname(dirname(folder))));
      for (const each of [...groupsUnder(folder).reverse(), holder, dirname(folder)]) attempt(() => rmdirSync(each));
    },
  };
}

/** More holders than sweep at the same moment. */
const mostSweepers = 100;

/** The holder's half is empty meanwhile, and another holder may sweep it away: then it is made anew. */
function goBack(holder: string): void {
  for (let n = 0; n < mostSweepers; n++) {
    if (attempt(() => moveTo(holder))) return;
    attempt(() => mkdirSync(holder, { recursive: true }));
  }
  moveTo(holder);
}

/** The folder itself first, then what is below. */
function groupsUnder(folder: string, depth = Number.POSITIVE_INFINITY): string[] {
  try {
    if (depth === 0) return [folder];
    const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [folder, ...below.flatMap(({ name }) => groupsUnder(join(folder, name), depth - 1))];
  } catch (error) {
    if (isRefusal(error)) return [];
    throw error;
  }
}

function readMembers(folder: string): number[] {
  try {
    const lines = readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n");
    // 0 stands for a process of another pid namespace.
    return lines.map(Number).filter((pid) => pid > 0);
  } catch (error) {
    if (isRefusal(error)) return [];
    throw error;
  }
}

/** All threads of this process move at once. */
const moveTo = (folder: string): void => writeFileSync(join(folder, "cgroup.procs"), String(process.pid));

const tell = (file: string, word: string): boolean => attempt(() => writeFileSync(file, word));

function attempt(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

/** What the kernel answers when something is gone, taken, in use, or forbidden. Any other error is a bug of ours. */
function isRefusal(error: unknown): boolean {
  const refusals = "ENOENT ENODEV ESRCH EACCES EPERM EROFS EBUSY ENOTEMPTY ENOTDIR EOPNOTSUPP EINVAL EAGAIN ENOSPC";
  return refusals.split(" ").includes((error as NodeJS.ErrnoException).code ?? "");
}

/** Where groups for agents can be made. */
interface Place {
  /** `…/rouse-agents`; not there before the first agent. */
  readonly folder: string;
  /** Our own group. */
  readonly own: string;
}

const below = "rouse-agents";

/**
 * Groups go beside our own group, so that a service manager that ends our group does not end the agent. They go into
 * the root if we are in it, and into our own group where we may write nowhere else.
 */
export function whereGroupsGo(): Place | null {
  const own = findOwnGroup();
  if (own === null) return null;
  const base = basesFor(own).find(isOpenToUs);
  return base === undefined ? null : { folder: join(base, below), own: join(own.mount, own.path) };
}

function basesFor({ mount, path }: OwnGroup): string[] {
  const nested = `${path}/`.indexOf(`/${below}/`);
  // Started by an agent, or by a process that once held one: beside that group, not deeper and deeper.
  const from = nested < 0 ? path : join(path.slice(0, nested) || "/", "self");
  return from === "/" ? [mount] : [join(mount, dirname(from)), ...(nested < 0 ? [join(mount, path)] : [])];
}

/** Moving a process needs the right to write here, not only in the new group. */
const isOpenToUs = (folder: string): boolean => mayWrite(folder) && mayWrite(join(folder, "cgroup.procs"));

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

interface OwnGroup {
  readonly mount: string;
  readonly path: string;
}

function findOwnGroup(): OwnGroup | null {
  try {
    return locateOwnGroup(readFileSync("/proc/self/mountinfo", "utf8"), readFileSync("/proc/self/cgroup", "utf8"));
  } catch {
    return null;
  }
}

/**
 * Lines of mountinfo: `36 35 0:30 ROOT MOUNTPOINT options … - cgroup2 …`. A container may see only part of the
 * hierarchy: paths then begin with the root of the mount, and a path with `..` lies outside of what is mounted.
 */
export function locateOwnGroup(mountinfo: string, cgroup: string): OwnGroup | null {
  const path = /^0::(\/.*)$/m.exec(cgroup)?.[1];
  if (path === undefined || path.split("/").includes("..")) return null;
  for (const line of mountinfo.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    if (!after.startsWith("cgroup2 ")) continue;
    const [root = "/", mount = "/"] = before.split(" ").slice(3, 5).map(unescapeSpaces);
    if (root === "/") return { mount, path };
    if (path === root || path.startsWith(`${root}/`)) return { mount, path: path.slice(root.length) || "/" };
  }
  return null;
}

export const unescapeSpaces = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

const nameGroup = (name: string): string =>
  `${name.replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 60)}-${randomBytes(6).toString("hex")}`;

export interface HostTier {
  readonly tier: TreeTier;
  readonly why: string;
  /** Where the groups of agents are made. */
  readonly place: string | null;
}

/** Found out by trying: makes a group, moves in and back, and removes it again. */
export function tierOfHost(): HostTier {
  const marked = (why: string): HostTier => ({ tier: "marked", why, place: null });
  if (findOwnGroup() === null) return marked("control groups (cgroup v2) are not mounted");
  const place = whereGroupsGo();
  if (place === null) return marked("this user may not make control groups here");
  if (!mayWrite(join(place.own, "cgroup.procs")))
    return marked("this process could not come back to its own control group");
  const group = makeGroup("trial");
  if (group === null) return marked(`no process can be moved into a group in ${place.folder}`);
  moveTo(place.own);
  group.remove();
  attempt(() => rmdirSync(place.folder)); // stays where agents are in it
  return { tier: "cgroup", why: `groups can be made in ${place.folder}`, place: place.folder };
}
