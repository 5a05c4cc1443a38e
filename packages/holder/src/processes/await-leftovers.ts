import { setTimeout as pause } from "node:timers/promises";
import type { RunningProcess } from "@rouse/contract";
import type { ProcessInfo } from "./read-processes.ts";
import { apartFromOthers, orphanedServers, withoutShared } from "./spare-others.ts";
import type { TreeWatch } from "./watch-tree.ts";

/** Children of an agent that ends take a moment to notice. */
const settleMs = 500;
const lookMs = 50;
const stayLookMs = 1000;
const mostListed = 100;

export interface Leftovers {
  /** Processes of the agent that are still there although its own is over; none before that is known. */
  now(): readonly RunningProcess[];
  /** Resolves once nobody is left, or somebody is and there is no reason to stay with them. */
  settle(stays: boolean): Promise<void>;
}

/** `tell`: who is left has changed. */
export function awaitLeftovers(tree: TreeWatch, tell: () => void): Leftovers {
  let left: readonly RunningProcess[] = [];

  const look = async (): Promise<readonly RunningProcess[]> =>
    (await findLeftovers(tree)).slice(0, mostListed).map(({ pid, name }) => ({ pid, name: name.slice(0, 100) }));

  return {
    now: () => left,
    async settle(stays) {
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

/** Whom an agent left whose own process is over. Somebody in the middle of `exec` shows no environment: who is not found is looked for twice. */
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
