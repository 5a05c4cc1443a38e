import type { ProcessId } from "../spec.ts";
import { type AgentGroup, mayLeaveGroup, openGroup } from "./cgroup.ts";
import { whomToSpare } from "./find-tree.ts";
import { isSame, type ProcessInfo, readAllProcesses } from "./read-processes.ts";
import { orphanedServers, withoutShared } from "./spare-shared.ts";
import type { TreeWatch } from "./watch-tree.ts";

/** One stop of one tree: who was met, who may not be signalled, and the only place that sends signals. */
export interface Hunt {
  look(): ProcessInfo[];
  /** Whom `killGroup` does not reach: everybody, if it may not be used. */
  lookOutsideGroup(): ProcessInfo[];
  /** Does nothing if the pid is not that process any more. */
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
  /** Somebody of the tree was left alone at the last look, because others use it. */
  spares(): boolean;
}

export function createHunt(watch: TreeWatch): Hunt {
  const met = new Set<string>();
  const denied = new Set<string>();
  const halted = new Map<string, ProcessId>();
  const proven = new Set<string>();
  let spares = false;
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
    mayHaveLeft: () => mayHaveLeft,
    spares: () => spares,
  };

  function look(): ProcessInfo[] {
    const members = watch.look();
    const own = withoutShared(watch.root(), members, proven);
    spares = own.length < members.length;
    const ours = [...own, ...orphanedServers(watch.root(), members)];
    const { cgroup } = watch.root();
    const fresh = ours.filter((member) => !met.has(nameOf(member)));
    mayHaveLeft ||= cgroup !== null && fresh.some(({ pid }) => mayLeaveGroup(cgroup, pid));
    const names = new Set(ours.map(nameOf));
    for (const name of names) met.add(name);
    // Somebody came to use them after we made them stand still.
    for (const [name, member] of halted) if (!names.has(name) && halted.delete(name)) send(member, "SIGCONT");
    return ours;
  }

  function send(member: ProcessId, signal: NodeJS.Signals): void {
    if (!isSame(member)) return;
    try {
      process.kill(member.pid, signal);
      if (signal === "SIGSTOP") halted.set(nameOf(member), member);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EPERM") denied.add(nameOf(member));
      else if (code !== "ESRCH") throw error;
    }
  }

  /** `null` when there is none, or somebody is to be spared: then each is signalled by itself. */
  function wholeGroup(): AgentGroup | null {
    const whole = group();
    if (whole === null) return null;
    const members = watch.look();
    if (withoutShared(watch.root(), members, proven).length < members.length) return null;
    const spared = whomToSpare(watch.root(), readAllProcesses());
    return whole.members().every((pid) => !spared.has(pid)) ? whole : null;
  }

  function group(): AgentGroup | null {
    const { cgroup } = watch.root();
    return cgroup === null ? null : openGroup(cgroup);
  }
}
