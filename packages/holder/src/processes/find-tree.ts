import { openGroup } from "./cgroup.ts";
import { createOwnerTest } from "./other-agents.ts";
import { hasMark, isAlive, type ProcessInfo, type TreeRoot } from "./read-processes.ts";

export interface Kin {
  /** The living processes of the tree, oldest first. */
  readonly members: ProcessInfo[];
  /** Processes that would be members if they did not belong to another agent. */
  readonly others: readonly OthersProcess[];
}

/** A process of another agent of Rouse. */
export interface OthersProcess extends ProcessInfo {
  readonly agent: string;
}

/** A process that turns out to be another agent's is taken out, and no process is found through it. */
export function findKin(root: TreeRoot, all: readonly ProcessInfo[]): Kin {
  const byPid = new Map(all.map((info) => [info.pid, info]));
  const ownerOf = createOwnerTest(root, (pid) => byPid.get(pid) ?? null);
  const spared = whomToSpare(root, all);
  const others: OthersProcess[] = [];
  for (;;) {
    const members = collect(root, all, spared);
    const before = others.length;
    for (const info of members) {
      const agent = ownerOf(info);
      if (agent === null) continue;
      others.push({ ...info, agent });
      spared.add(info.pid);
    }
    if (others.length === before) return { members, others };
  }
}

function collect(root: TreeRoot, all: readonly ProcessInfo[], spared: ReadonlySet<number>): ProcessInfo[] {
  const candidates = all.filter((info) => isAlive(info) && !spared.has(info.pid));
  const members = new Map<number, ProcessInfo>();
  const families = familiesOf(root, all);
  const take = (info: ProcessInfo): void => {
    members.set(info.pid, info);
    families.learnFrom(info);
  };

  const named = new Map([root.agent, ...root.known].map((id) => [id.pid, id.startTicks]));
  const grouped = new Set(root.cgroup === null ? [] : openGroup(root.cgroup)?.members());
  for (const info of candidates) {
    if (grouped.has(info.pid) || named.get(info.pid) === info.startTicks) take(info);
  }
  takeRelatives();
  for (const info of candidates) if (!members.has(info.pid) && hasMark(info.pid, root.mark)) take(info);
  takeRelatives();
  return [...members.values()].sort((a, b) => a.startTicks - b.startTicks || a.pid - b.pid);

  /** Repeated until no new process is found: pids wrap around, so a child may come before its parent. */
  function takeRelatives(): void {
    for (let before = -1; before !== members.size; ) {
      before = members.size;
      for (const info of candidates) {
        if (!members.has(info.pid) && (members.has(info.ppid) || families.include(info))) take(info);
      }
    }
  }
}

/**
 * Sessions and process groups made by the tree. One numbered like a member was made by that member, and the number is
 * not reused while a process is in it. One that the agent shares with its starter has another number and is left alone.
 */
function familiesOf(root: TreeRoot, all: readonly ProcessInfo[]) {
  const seen = new Map([root.agent, ...root.known].map((id) => [id.pid, id.startTicks]));
  const takenOver = new Set(
    all.filter((info) => isAlive(info) && seen.get(info.pid) !== info.startTicks).map((info) => info.pid),
  );
  const sessions = new Set(root.sessions?.filter((session) => !takenOver.has(session)));
  const groups = new Set<number>();
  const learnFrom = ({ pid, session, pgid }: ProcessInfo): void => {
    if (session === pid || session === root.agent.pid) sessions.add(session);
    if (pgid === root.agent.pid ? root.useGroup : pgid === pid) groups.add(pgid);
  };
  // A zombie still shows which session and group it led.
  const agent = all.find(({ pid, startTicks }) => pid === root.agent.pid && startTicks === root.agent.startTicks);
  if (agent !== undefined) learnFrom(agent);
  return {
    learnFrom,
    include: ({ session, pgid }: ProcessInfo): boolean => sessions.has(session) || groups.has(pgid),
  };
}

/** This process, its ancestors, its process group, the first process, and all processes older than the agent. */
export function whomToSpare(root: TreeRoot, all: readonly ProcessInfo[]): Set<number> {
  const spared = new Set(ourLine(all));
  for (const { pid, pgid, startTicks } of all) {
    if (pid <= 1 || pgid === root.ownGroup || startTicks < root.agent.startTicks) spared.add(pid);
  }
  return spared;
}

/** Our own pid and those of our ancestors. */
export function ourLine(all: readonly ProcessInfo[]): number[] {
  const parents = new Map(all.map(({ pid, ppid }) => [pid, ppid]));
  const line = new Set<number>();
  // Pids reused while we read could make it a circle.
  for (let pid = process.pid; pid > 0 && !line.has(pid); pid = parents.get(pid) ?? 0) line.add(pid);
  return [...line];
}
