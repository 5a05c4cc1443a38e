import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { SparedProcess } from "@rouse/contract";
import type { Kin, OthersProcess } from "./find-tree.ts";
import { createOwnerTest } from "./other-agents.ts";
import {
  executableOf,
  hasMark,
  isAlive,
  markOf,
  type ProcessInfo,
  readAllProcesses,
  readIfThere,
  type TreeRoot,
} from "./read-processes.ts";

/** Of a tree, who may be ended with its agent, and what is left alone with the reason. */
export interface Apart {
  readonly own: ProcessInfo[];
  readonly spared: readonly SparedProcess[];
}

type ByPid = ReadonlyMap<number, ProcessInfo>;

const mostListed = 20;

/**
 * Another agent would end with the process it runs in: whoever it descends from is spared, other than the agent itself. A server that left the agent's
 * session (tmux, screen) is spared with everything in it: what people have open there cannot be told from what the agent has.
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

/** For those who are not found as members of the tree. */
export function withoutOthers(root: TreeRoot, found: readonly ProcessInfo[]): ProcessInfo[] {
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

/** Itself and its ancestors, as far as they are members. */
function lineOf(pid: number, byPid: ByPid): number[] {
  const line = new Set<number>();
  for (let at = byPid.get(pid); at !== undefined && !line.has(at.pid); at = byPid.get(at.ppid)) line.add(at.pid);
  return [...line];
}

/** The topmost of each: what is inside is left alone with it. */
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
 * Whom of an agent's tree a stop may end, and who is left over of it. Codex's full screen runs its agent in one server for each CODEX_HOME: the
 * first Codex starts it, the later ones use it. The server carries the mark of the first, and so do the tools that it runs for all of them. While
 * a Codex that is not of this tree uses it, it is spared with everybody who may come from it. `proven`: who was seen to come from the agent itself,
 * kept by whoever looks again when their parents are gone.
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
 * Servers that only this tree uses although another agent of Rouse started them, whose life is over, with all that descends from them: whoever is the
 * last to use one sees to it. One that has lost its parent may have been left on purpose, and stays.
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

/** Of the agent that it carries the mark of, nobody is left who was there before it. One without a mark is nobody's here. */
function isWithoutStarter(pid: number, servers: readonly ProcessInfo[], all: readonly ProcessInfo[]): boolean {
  const mark = markOf(pid);
  if (mark === null) return false;
  const own = new Set(servers.map((server) => server.pid));
  const first = servers.reduce((a, b) => (isOlder(b, a) ? b : a));
  return !all.some((info) => isOlder(info, first) && !own.has(info.pid) && hasMark(info.pid, mark));
}

/** What a server starts at once has the same hundredth of a second, and a later number. */
const isOlder = (a: ProcessInfo, b: ProcessInfo): boolean =>
  a.startTicks < b.startTicks || (a.startTicks === b.startTicks && a.pid < b.pid);

/** Where the Codex among them keep their things. */
export const homesOfCodex = (members: readonly ProcessInfo[]): string[] =>
  members
    .filter(({ pid, name }) => name === "codex" && runsCodex(pid) && argumentsOf(pid)[1] !== "app-server")
    .flatMap(({ pid }) => homeOf(pid) ?? []);

/**
 * Neither a server nor somebody it may have started. A process that lost its parent may be a tool of another agent: it is ended only if it was
 * there before the server, or is in the agent's own session, which nobody can enter from the server's.
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

/** Started by a full screen of Codex, and not by somebody who wants it to run. */
const isManaged = (info: ProcessInfo): boolean =>
  isSharedServer(info) &&
  (argumentsOf(info.pid).includes("--managed-daemon") || argumentsOf(info.pid).includes("pid-update-loop"));

/** The server, or the one beside it that keeps it up to date. Both lead a session; one that an agent runs as its own program does not. */
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

/** Where every Codex that is not of this tree keeps its things. */
function homesOfOthers(root: TreeRoot, members: readonly ProcessInfo[]): (string | null)[] {
  const ours = new Set(members.map(({ pid }) => pid));
  return readAllProcesses()
    .filter((info) => isAlive(info) && !ours.has(info.pid) && runsCodex(info.pid))
    .filter(({ pid }) => argumentsOf(pid)[1] !== "app-server" && !hasMark(pid, root.mark))
    .map(({ pid }) => homeOf(pid));
}

const keyOf = ({ pid, startTicks }: ProcessInfo): string => `${pid}:${startTicks}`;

/** One that could not be read may be the same. */
const isSameHome = (a: string | null, b: string | null): boolean => a === null || b === null || a === b;

function homeOf(pid: number): string | null {
  const environment = readIfThere(`/proc/${pid}/environ`)?.split("\0") ?? [];
  const given = (name: string): string =>
    environment.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
  const home = given("HOME");
  const folder = given("CODEX_HOME") || (home === "" ? "" : join(home, ".codex"));
  if (folder === "") return null;
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

const argumentsOf = (pid: number): string[] => readIfThere(`/proc/${pid}/cmdline`)?.split("\0").slice(0, -1) ?? [];

const runsCodex = (pid: number): boolean => executableOf(pid) === "codex";
