import type { RunningProcess, SparedProcess } from "@rouse/contract";
import type { ProcessId } from "../protocol/spec.ts";
import { type AgentGroup, mayLeaveGroup, openGroup } from "./cgroup.ts";
import { whomToSpare } from "./find-tree.ts";
import { createOwnerTest } from "./other-agents.ts";
import { executableOf, isSame, type ProcessInfo, readAllProcesses, readProcess } from "./read-processes.ts";
import { apartFromOthers } from "./spare-others.ts";
import { orphanedServers, withoutShared } from "./spare-shared.ts";
import type { TreeWatch } from "./watch-tree.ts";

/** One stop of one tree: who was met, who may not be signalled, and the only place that sends signals. */
export interface Hunt {
  look(): ProcessInfo[];
  /** Whom `killGroup` does not reach: everybody, if it may not be used. */
  lookOutsideGroup(): ProcessInfo[];
  /** Does nothing if the pid is not that process any more, or has become another agent's. */
  send(member: ProcessId, signal: NodeJS.Signals): void;
  /** The kernel refused us: a process of another user. */
  isDenied(member: ProcessId): boolean;
  /** Unless somebody is in it who is to be spared. */
  killGroup(): void;
  thaw(): void;
  /** How many were met so far. */
  count(): number;
  /** Somebody who was met had the right to leave the control group of the tree. */
  mayHaveLeft(): boolean;
  /** A server of Codex was left alone at the last look, because others use it. */
  sparesCodex(): boolean;
  /** Who was left alone at the last look, because of another agent. */
  spared(): readonly SparedProcess[];
  /** Servers of terminals that were met: sessions that people opened there end with them. */
  servers(): readonly RunningProcess[];
}

export function createHunt(watch: TreeWatch): Hunt {
  const met = new Set<string>();
  const denied = new Set<string>();
  const halted = new Map<string, ProcessId>();
  const proven = new Set<string>();
  const servers = new Map<string, RunningProcess>();
  let sparesCodex = false;
  let spared: readonly SparedProcess[] = [];
  let mayHaveLeft = false;
  const nameOf = ({ pid, startTicks }: ProcessId): string => `${pid}:${startTicks}`;

  return {
    look,
    lookOutsideGroup() {
      const inside = new Set(wholeGroup()?.members());
      return look().filter(({ pid }) => !inside.has(pid));
    },
    send,
    isDenied: (member) => denied.has(nameOf(member)),
    killGroup: () => void wholeGroup()?.kill(),
    thaw: () => group()?.thaw(),
    count: () => met.size,
    sparesCodex: () => sparesCodex,
    spared: () => spared,
    servers: () => [...servers.values()],
    mayHaveLeft: () => mayHaveLeft,
  };

  function look(): ProcessInfo[] {
    const members = watch.look();
    const apart = apartFromOthers(watch.root(), { members, others: watch.others() });
    const own = withoutShared(watch.root(), apart.own, proven);
    sparesCodex = own.length < apart.own.length;
    spared = apart.spared;
    const ours = [...own, ...orphanedServers(watch.root(), members)];
    const { cgroup } = watch.root();
    const fresh = ours.filter((member) => !met.has(nameOf(member)));
    mayHaveLeft ||= cgroup !== null && fresh.some(({ pid }) => mayLeaveGroup(cgroup, pid));
    const names = new Set(ours.map(nameOf));
    for (const each of ours) note(each);
    // Somebody came to use them after we made them stand still.
    for (const [name, member] of halted) if (!names.has(name) && halted.delete(name)) send(member, "SIGCONT");
    return ours;
  }

  function note(member: ProcessInfo): void {
    const name = nameOf(member);
    if (met.has(name)) return;
    met.add(name);
    const isAgent = member.pid === watch.root().agent.pid;
    if (!isAgent && servesTerminals(member)) servers.set(name, { pid: member.pid, name: member.name.slice(0, 100) });
  }

  function send(member: ProcessId, signal: NodeJS.Signals): void {
    if (!isSame(member) || isOthers(member)) return;
    try {
      process.kill(member.pid, signal);
      if (signal === "SIGSTOP") halted.set(nameOf(member), member);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EPERM") denied.add(nameOf(member));
      else if (code !== "ESRCH") throw error;
    }
  }

  /** Looked at anew: between a look and a signal it may have become a holder. */
  function isOthers({ pid }: ProcessId): boolean {
    const info = readProcess(pid);
    return info !== null && createOwnerTest(watch.root())(info) !== null;
  }

  /** `null` when there is none, or somebody is to be spared: then each is signalled by itself. */
  function wholeGroup(): AgentGroup | null {
    const whole = group();
    if (whole === null) return null;
    const members = watch.look();
    const { own } = apartFromOthers(watch.root(), { members, others: watch.others() });
    if (withoutShared(watch.root(), own, proven).length < members.length) return null;
    const untouched = whomToSpare(watch.root(), readAllProcesses());
    for (const { pid } of watch.others()) untouched.add(pid);
    return whole.members().every((pid) => !untouched.has(pid)) ? whole : null;
  }

  function group(): AgentGroup | null {
    const { cgroup } = watch.root();
    return cgroup === null ? null : openGroup(cgroup);
  }
}

const terminalServers = new Set(["tmux", "screen", "dtach", "abduco", "zellij"]);

/** By its file. The server leads a session; those who look into it do not, or do so in the agent's own. */
function servesTerminals({ pid, session }: ProcessInfo): boolean {
  // Debian's screen is `screen-4.9`
  return session === pid && terminalServers.has(executableOf(pid)?.replace(/-.*/, "") ?? "");
}
