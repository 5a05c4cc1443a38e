import { readdirSync, readFileSync } from "node:fs";
import { AgentId } from "@rouse/contract";
import type { z } from "zod";
import type { Door } from "./connect-holder.ts";
import { holderFiles, holdersFolder } from "./holder-files.ts";
import { readSecret } from "./holder-secret.ts";
import type { TreeRoot } from "./processes/find-tree.ts";
import { identityOf } from "./processes/read-processes.ts";
import { ExitFile, HolderFile, Spec } from "./spec.ts";

/** An agent that was ever started by Rouse here, whether it still runs or not. */
export type HeldName = string;

export function listHeld(home: string): HeldName[] {
  try {
    return readdirSync(holdersFolder(home), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && AgentId.safeParse(entry.name).success)
      .map((entry) => entry.name)
      .sort();
  } catch {
    return [];
  }
}

// Each is `null` when it is not there, cannot be read or is not (yet) whole.

export const readSpec = (home: string, agentId: HeldName): Spec | null =>
  readWhole(holderFiles(home, agentId).spec, Spec);

export const readHolderFile = (home: string, agentId: HeldName): HolderFile | null =>
  readWhole(holderFiles(home, agentId).holder, HolderFile);

export const readExitFile = (home: string, agentId: HeldName): ExitFile | null =>
  readWhole(holderFiles(home, agentId).exit, ExitFile);

/** How to get in to who holds an agent. */
export const doorOf = (home: string, { agentId, socket, store }: HolderFile): Door => ({
  socket,
  secret: store === undefined ? null : readSecret(holderFiles(home, agentId).secret),
});

/** What an agent whose holder is gone left is found by; `null`: nobody knows its process. */
export const treeOf = ({ agent, mark, cgroup, left }: HolderFile): TreeRoot | null =>
  agent === null ? null : { agent, mark, cgroup, ownGroup: 0, useGroup: false, known: [], ...left };

/** Not merely a process with its number. */
export function isHolderAlive({ holder }: Pick<HolderFile, "holder">): boolean {
  return identityOf(holder.pid)?.startTicks === holder.startTicks;
}

function readWhole<T>(file: string, schema: z.ZodType<T>): T | null {
  try {
    const parsed = schema.safeParse(JSON.parse(readFileSync(file, "utf8")));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
