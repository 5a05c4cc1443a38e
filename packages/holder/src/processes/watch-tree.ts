import { uptime } from "node:os";
import type { ProcessFacts } from "@rouse/contract";
import type { ProcessId } from "../protocol/spec.ts";
import { findKin, type Kin } from "./find-tree.ts";
import {
  areSame,
  isAlive,
  type ProcessInfo,
  readAllProcesses,
  readIoBytes,
  readUnits,
  type TreeRoot,
} from "./read-processes.ts";
import { readsTerminal } from "./reads-terminal.ts";
import { homesOfCodex } from "./spare-others.ts";

/**
 * Remembers the processes of a tree, so that a child which later loses its parent, its session and its environment is
 * still known. Memory is bounded by the living: a process that is gone is forgotten, because no other can have the same
 * pid and start.
 */
export interface TreeWatch {
  /** All that is known now, for others who look for the tree. */
  root(): TreeRoot;
  look(): ProcessInfo[];
  /** Processes of other agents met at the last look: they do not belong to the tree, and are not remembered. */
  others(): Kin["others"];
  facts(): ProcessFacts;
}

export function createTreeWatch(start: TreeRoot): TreeWatch {
  let root = start;
  /** Zombies: gone, but not yet counted in the numbers of the parent that waits for them. */
  let unreaped: ProcessInfo[] = [];
  let others: Kin["others"] = [];
  const cpu = createGrowingTotal();
  const io = createGrowingTotal();
  const youngest = createYoungest(start.agent);
  /** The agent's own terminal; a child may have another one. */
  let terminal = 0;

  return { root: () => root, look, others: () => others, facts };

  function look(): ProcessInfo[] {
    const all = readAllProcesses();
    const seen = new Map([root.agent, ...root.known, ...unreaped].map(({ pid, startTicks }) => [pid, startTicks]));
    unreaped = all.filter((info) => !isAlive(info) && seen.get(info.pid) === info.startTicks);
    const kin = findKin(root, all);
    const { members } = kin;
    others = kin.others;
    root = {
      ...root,
      known: members.map(({ pid, startTicks }) => ({ pid, startTicks })),
      sessions: sessionsOf(members),
      codexHomes: [...new Set([...(root.codexHomes ?? []), ...homesOfCodex(members)])],
    };
    return members;
  }

  /** Sessions led by a member now, or earlier and never empty since. */
  function sessionsOf(members: readonly ProcessInfo[]): number[] {
    const before = new Set(root.sessions);
    const led = members.filter(({ pid, session }) => session === pid || before.has(session));
    return [...new Set(led.map(({ session }) => session))];
  }

  function facts(): ProcessFacts {
    let members = look();
    let used = usage([...members, ...unreaped]);
    if (cpu.wouldShrink(used.ticks) || io.wouldShrink(used.bytes)) {
      // A process ended while we read. A second reading finds what it used in the numbers of the parent that waited for
      // it.
      members = look();
      used = usage([...members, ...unreaped]);
    }
    const { ticksPerSecond, pageBytes } = readUnits();
    terminal = members.find(({ pid }) => pid === root.agent.pid)?.tty || terminal;
    return {
      processes: members.length,
      cpuMs: Math.round((cpu.add(used.ticks) * 1000) / ticksPerSecond),
      ioBytes: io.add(used.bytes),
      memoryBytes: members.reduce((sum, { rssPages }) => sum + rssPages, 0) * pageBytes,
      youngestChildAt: youngest.startedAt(members, ticksPerSecond),
      readsTerminal: readsTerminal(members, terminal),
    };
  }
}

/** Both include what waited-for children used, so no process is counted twice. */
function usage(everybody: readonly ProcessInfo[]): { ticks: number; bytes: number } {
  return {
    ticks: everybody.reduce((sum, { cpuTicks, childCpuTicks }) => sum + cpuTicks + childCpuTicks, 0),
    bytes: everybody.reduce((sum, { pid }) => sum + readIoBytes(pid), 0),
  };
}

/** A sum over living processes that never shrinks: it keeps what ended processes used that no member waited for. */
function createGrowingTotal() {
  let kept = 0;
  let last = 0;
  return {
    wouldShrink: (living: number): boolean => kept + living < last,
    add(living: number): number {
      kept = Math.max(kept, last - living);
      last = kept + living;
      return last;
    },
  };
}

/** When the youngest process of a tree was started, by the wall clock. */
function createYoungest(agent: ProcessId) {
  let last: (ProcessId & { readonly at: number }) | null = null;
  return {
    /** Computed once for each process: computing it anew would move it a little, or much when the clock is set. */
    startedAt(members: readonly ProcessId[], ticksPerSecond: number): number | null {
      const child = members
        .filter(({ pid }) => pid !== agent.pid)
        .reduce<ProcessId | null>((a, b) => (a !== null && a.startTicks >= b.startTicks ? a : b), null);
      if (child === null) return null;
      if (last !== null && areSame(last, child)) return last.at;
      const ageMs = Math.max(0, (uptime() - child.startTicks / ticksPerSecond) * 1000);
      last = { pid: child.pid, startTicks: child.startTicks, at: Math.round(Date.now() - ageMs) };
      return last.at;
    },
  };
}
