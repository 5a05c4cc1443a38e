import type { ProcessId } from "../spec.ts";
import { type AgentGroup, openGroup } from "./cgroup.ts";
import { whomToSpare } from "./find-tree.ts";
import { isSame, type ProcessInfo, readAllProcesses } from "./read-processes.ts";
import { withoutShared } from "./spare-shared.ts";
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
}

export function createHunt(watch: TreeWatch): Hunt {
  const met = new Set<string>();
  const denied = new Set<string>();
  const halted = new Set<string>();
  const proven = new Set<string>();
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
  };

  function look(): ProcessInfo[] {
    const members = watch.look();
    const ours = withoutShared(watch.root(), members, proven);
    for (const member of ours) met.add(nameOf(member));
    if (halted.size > 0) letGo(members.filter((member) => !ours.includes(member)));
    return ours;
  }

  /** Somebody came to use them after we made them stand still. */
  function letGo(spared: readonly ProcessInfo[]): void {
    for (const member of spared) if (halted.delete(nameOf(member))) send(member, "SIGCONT");
  }

  function send(member: ProcessId, signal: NodeJS.Signals): void {
    if (!isSame(member)) return;
    try {
      process.kill(member.pid, signal);
      if (signal === "SIGSTOP") halted.add(nameOf(member));
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
