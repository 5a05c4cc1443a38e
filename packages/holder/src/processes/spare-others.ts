import type { SparedProcess } from "@rouse/contract";
import type { Kin, OthersProcess } from "./find-tree.ts";
import { createOwnerTest } from "./other-agents.ts";
import type { ProcessInfo, TreeRoot } from "./read-processes.ts";

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
