import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { SparedProcess } from "@rouse/contract";
import { attempt } from "../attempt.ts";
import type { Kin, OthersProcess } from "./find-tree.ts";
import { createOwnerTest } from "./other-agents.ts";
import {
  argumentsOf,
  environmentOf,
  executableOf,
  hasMark,
  isAlive,
  keyOf,
  markVariable,
  type ProcessInfo,
  readAllProcesses,
  type TreeRoot,
} from "./read-processes.ts";

interface Apart {
  /** The processes that may be ended with their agent. */
  readonly own: ProcessInfo[];
  readonly spared: readonly SparedProcess[];
}

type ByPid = ReadonlyMap<number, ProcessInfo>;

const mostListed = 20;

/**
 * Spares the processes that another agent descends from, other than this agent itself: the other agent would end with
 * them. A server that left the agent's session (tmux, screen) is spared with everything in it: what people have open
 * there cannot be told from what the agent has.
 */
export function apartFromOthers(root: TreeRoot, { members, others }: Kin): Apart {
  if (others.length === 0) return { own: members, spared: [] };
  const byPid: ByPid = new Map(members.map((member) => [member.pid, member]));
  const hosts = hostsOf(root, byPid, others);
  const ownSession = byPid.get(root.agent.pid)?.session ?? root.agent.pid;
  const servers = new Set([...hosts.keys()].filter((pid) => byPid.get(pid)?.session !== ownSession));
  const isSpared = (pid: number): boolean => hosts.has(pid) || lineOf(pid, byPid).some((above) => servers.has(above));
  return { own: members.filter(({ pid }) => !isSpared(pid)), spared: describe(byPid, hosts, others) };
}

/** The same for processes that were not found as members of the tree. */
function withoutOthers(root: TreeRoot, found: readonly ProcessInfo[]): ProcessInfo[] {
  const ownerOf = createOwnerTest(root);
  const owned = found.map((info) => ({ info, agent: ownerOf(info) }));
  const others = owned.flatMap(({ info, agent }) => (agent === null ? [] : [{ ...info, agent }]));
  const members = owned.filter(({ agent }) => agent === null).map(({ info }) => info);
  return apartFromOthers(root, { members, others }).own;
}

/** Members that other agents descend from, each with the names of those agents. */
function hostsOf({ agent }: TreeRoot, byPid: ByPid, others: readonly OthersProcess[]): Map<number, Set<string>> {
  const hosts = new Map<number, Set<string>>();
  for (const other of others) {
    for (const pid of lineOf(other.ppid, byPid)) {
      if (pid === agent.pid) break;
      hosts.set(pid, (hosts.get(pid) ?? new Set()).add(other.agent));
    }
  }
  return hosts;
}

/** A process and its ancestors, as far as they are members. */
function lineOf(pid: number, byPid: ByPid): number[] {
  const line = new Set<number>();
  for (let at = byPid.get(pid); at !== undefined && !line.has(at.pid); at = byPid.get(at.ppid)) line.add(at.pid);
  return [...line];
}

/** Names the topmost process of each spared part: what is inside is left alone with it. */
function describe(byPid: ByPid, hosts: ReadonlyMap<number, Set<string>>, others: readonly OthersProcess[]) {
  const inside = new Set([...hosts.keys(), ...others.map(({ pid }) => pid)]);
  const top = [...hosts].filter(([pid]) => !hosts.has(byPid.get(pid)?.ppid ?? 0));
  const alone = others.filter(({ ppid }) => !inside.has(ppid));
  return [
    ...top.map(([pid, agents]) => say(pid, byPid.get(pid)?.name ?? "", [...agents], "runs-in-it")),
    ...alone.map(({ pid, name, agent }) => say(pid, name, [agent], "is-another")),
  ].slice(0, mostListed);
}

const say = (pid: number, name: string, agents: string[], because: SparedProcess["because"]): SparedProcess => ({
  pid,
  name: name.slice(0, 100),
  agents: agents.slice(0, mostListed),
  because,
});

/**
 * The members that are not part of a Codex server that others use. Codex's full screen has its turns in one server for
 * each CODEX_HOME: the first Codex starts the server, later ones use it. The server carries the mark of the first, and
 * so do the tools that it runs for all of them. While a Codex outside this tree uses the server, it is spared with
 * every process that may come from it. `proven`: processes that were seen to come from the agent itself; a caller that
 * looks several times keeps the set, because later their parents may be gone.
 */
export function withoutShared(root: TreeRoot, members: ProcessInfo[], proven = new Set<string>()): ProcessInfo[] {
  const servers = members.filter((member) => member.pid !== root.agent.pid && isSharedServer(member));
  if (servers.length === 0) return members;
  const users = homesOfOthers(root, members);
  const shared = servers.filter(({ pid }) => users.some((home) => isSameHome(home, homeOf(pid))));
  if (shared.length === 0) return members;
  const isOwn = comesFromElsewhere(root, members, shared);
  const own = members.filter((member) => proven.has(keyOf(member)) || isOwn(member));
  for (const member of own) proven.add(keyOf(member));
  return own;
}

/**
 * Codex servers, with all their descendants, that another agent of Rouse started and that only this tree still uses:
 * the last user ends a server with itself, once the life of the agent that started it is over. A descendant that has
 * lost its parent may have been left running on purpose, and stays.
 */
export function orphanedServers(root: TreeRoot, members: readonly ProcessInfo[]): ProcessInfo[] {
  const homes = root.codexHomes ?? [];
  if (homes.length === 0) return [];
  const all = readAllProcesses().filter(isAlive);
  const ours = new Set(members.map(({ pid }) => pid));
  const servers = all.filter(
    (info) => !ours.has(info.pid) && isManaged(info) && homes.includes(homeOf(info.pid) ?? ""),
  );
  if (servers.length === 0) return [];
  const users = homesOfOthers(root, members);
  const orphaned = servers.filter(
    ({ pid }) => !users.some((home) => isSameHome(home, homeOf(pid))) && isWithoutStarter(pid, servers, all),
  );
  const found = new Set(orphaned);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    const parents = new Set([...found].map(({ pid }) => pid));
    for (const info of all) if (parents.has(info.ppid)) found.add(info);
  }
  return withoutOthers(root, [...found]);
}

/** Whether the agent whose mark the server carries has ended: no process with that mark is older than the server. */
function isWithoutStarter(pid: number, servers: readonly ProcessInfo[], all: readonly ProcessInfo[]): boolean {
  const mark = environmentOf(pid).get(markVariable);
  if (mark === undefined) return false;
  const own = new Set(servers.map((server) => server.pid));
  const first = servers.reduce((a, b) => (isOlder(b, a) ? b : a));
  return !all.some((info) => isOlder(info, first) && !own.has(info.pid) && hasMark(info.pid, mark));
}

/** A process that a server starts at once has the same start tick, and a higher number. */
const isOlder = (a: ProcessInfo, b: ProcessInfo): boolean =>
  a.startTicks < b.startTicks || (a.startTicks === b.startTicks && a.pid < b.pid);

/** The CODEX_HOME of each Codex among the members. */
export const homesOfCodex = (members: readonly ProcessInfo[]): string[] =>
  members
    .filter(({ pid, name }) => name === "codex" && runsCodex(pid) && argumentsOf(pid)[1] !== "app-server")
    .flatMap(({ pid }) => homeOf(pid) ?? []);

/**
 * Whether a member is neither a shared server nor may have been started by one. A process that lost its parent may be a
 * tool of another agent: it counts as this agent's only if it is older than the server, or is in the agent's own
 * session, which no process can enter from the server's.
 */
function comesFromElsewhere(root: TreeRoot, members: readonly ProcessInfo[], shared: readonly ProcessInfo[]) {
  const byPid = new Map(members.map((member) => [member.pid, member]));
  const servers = new Set(shared.map(({ pid }) => pid));
  const since = Math.min(...shared.map(({ startTicks }) => startTicks));
  const session = byPid.get(root.agent.pid)?.session ?? root.agent.pid;
  return (member: ProcessInfo): boolean => {
    let top = member;
    // Numbers given out anew while we read could make it a circle.
    for (let steps = 0; steps < members.length; steps++) {
      if (servers.has(top.pid)) return false;
      if (top.pid === root.agent.pid || top.session === session) return true;
      const parent = byPid.get(top.ppid);
      if (parent === undefined) break;
      top = parent;
    }
    return top.startTicks < since;
  };
}

/** Started by Codex itself, and not by a person who wants it to run. */
const isManaged = (info: ProcessInfo): boolean =>
  isSharedServer(info) &&
  (argumentsOf(info.pid).includes("--managed-daemon") || argumentsOf(info.pid).includes("pid-update-loop"));

/** The server, or its updater. Both lead a session; a server that an agent runs as its own program does not. */
function isSharedServer({ pid, session }: ProcessInfo): boolean {
  if (session !== pid || !runsCodex(pid)) return false;
  const [, first, ...rest] = argumentsOf(pid);
  if (first !== "app-server") return false;
  return (
    rest.includes("--managed-daemon") ||
    rest.some(
      (each, at) => each.startsWith("--listen=unix:") || (rest[at - 1] === "--listen" && each.startsWith("unix:")),
    ) ||
    (rest.length === 2 && rest.join(" ") === "daemon pid-update-loop")
  );
}

/** The CODEX_HOME of every Codex outside this tree. */
function homesOfOthers(root: TreeRoot, members: readonly ProcessInfo[]): (string | null)[] {
  const ours = new Set(members.map(({ pid }) => pid));
  return readAllProcesses()
    .filter((info) => isAlive(info) && !ours.has(info.pid) && runsCodex(info.pid))
    .filter(({ pid }) => argumentsOf(pid)[1] !== "app-server" && !hasMark(pid, root.mark))
    .map(({ pid }) => homeOf(pid));
}

/** A home that could not be read may be the same. */
const isSameHome = (a: string | null, b: string | null): boolean => a === null || b === null || a === b;

function homeOf(pid: number): string | null {
  const environment = environmentOf(pid);
  const home = environment.get("HOME") ?? "";
  const folder = environment.get("CODEX_HOME") || (home === "" ? "" : join(home, ".codex"));
  return folder === "" ? null : (attempt(() => realpathSync(folder)) ?? folder);
}

const runsCodex = (pid: number): boolean => executableOf(pid) === "codex";
