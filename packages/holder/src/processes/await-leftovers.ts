import { setTimeout as pause } from "node:timers/promises";
import type { RunningProcess } from "@rouse/contract";
import type { ProcessInfo } from "./read-processes.ts";
import { apartFromOthers, orphanedServers, withoutShared } from "./spare-others.ts";
import type { TreeWatch } from "./watch-tree.ts";

/** The children of an agent that ended take a moment to notice and end. */
const settleMs = 500;
const lookMs = 50;
const stayLookMs = 1000;
const mostListed = 100;

/** Watches the leftovers of an agent. `tell` is called when they change. */
export function awaitLeftovers(tree: TreeWatch, tell: () => void) {
  let left: readonly RunningProcess[] = [];

  const look = async (): Promise<readonly RunningProcess[]> =>
    (await findLeftovers(tree)).slice(0, mostListed).map(({ pid, name }) => ({ pid, name: name.slice(0, 100) }));

  return {
    /** Processes that outlived the agent; none before `settle` has looked. */
    now: () => left,
    /** Resolves once the leftovers are known; with `stays`, once none is left. */
    async settle(stays: boolean): Promise<void> {
      const until = performance.now() + settleMs;
      let found = await look();
      while (found.length > 0 && performance.now() < until) {
        await pause(lookMs);
        found = await look();
      }
      left = found;
      if (left.length > 0) tell();
      while (stays && left.length > 0) {
        await pause(stayLookMs);
        found = await look();
        const isNews = found.map(({ pid }) => pid).join() !== left.map(({ pid }) => pid).join();
        left = found;
        if (isNews && left.length > 0) tell();
      }
    },
  };
}

/** Looks twice before it says that no process was left: one in the middle of `exec` shows no environment. */
export async function findLeftovers(tree: TreeWatch): Promise<ProcessInfo[]> {
  const found = lookOnce(tree);
  if (found.length > 0) return found;
  await pause(5);
  return lookOnce(tree);
}

function lookOnce(tree: TreeWatch): ProcessInfo[] {
  const members = tree.look();
  const { own } = apartFromOthers(tree.root(), { members, others: tree.others() });
  return [...withoutShared(tree.root(), own), ...orphanedServers(tree.root(), members)];
}
