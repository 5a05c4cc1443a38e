import type { ProcessId } from "../spec.ts";
import { type AgentGroup, openGroup } from "./cgroup.ts";
import { whomToSpare } from "./find-tree.ts";
import { isSame, type ProcessInfo, readAllProcesses } from "./read-processes.ts";
import type { TreeWatch } from "./watch-tree.ts";

/** One stop of one tree: who was met, who may not be signalled, and the only place that sends signals. */
export interface Hunt {
  look(): ProcessInfo[];
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
  const nameOf = ({ pid, startTicks }: ProcessId): string => `${pid}:${startTicks}`;

  return {
    look,
    lookOutsideGroup() {
      const inside = new Set(group()?.members());
      return look().filter(({ pid }) => !inside.has(pid));
    },
    send(member, signal) {
      if (!isSame(member)) return;
      try {
        process.kill(member.pid, signal);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === "EPERM") denied.add(nameOf(member));
        else if (code !== "ESRCH") throw error;
      }
    },
    isDenied: (member) => denied.has(nameOf(member)),
    killGroup() {
      const spared = whomToSpare(watch.root(), readAllProcesses());
      const whole = group();
      if (whole?.members().every((pid) => !spared.has(pid))) whole.kill();
    },
    thaw: () => group()?.thaw(),
    count: () => met.size,
  };

  function look(): ProcessInfo[] {
    const members = watch.look();
    for (const member of members) met.add(nameOf(member));
    return members;
  }

  function group(): AgentGroup | null {
    const { cgroup } = watch.root();
    return cgroup === null ? null : openGroup(cgroup);
  }
}
