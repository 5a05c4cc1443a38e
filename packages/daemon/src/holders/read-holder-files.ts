import { readdirSync, readFileSync } from "node:fs";
import { AgentFamily, AgentId, ExitStatus, Id, RestartRule, TreeTier, UserPattern } from "@rouse/contract";
import {
  type ExitFile,
  type HolderFile,
  holderFiles,
  holdersFolder,
  identityOf,
  readSecret,
  type Spec,
  type TreeRoot,
} from "@rouse/holder";
import { z } from "zod";
import type { Door } from "./connect-holder.ts";

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
  readWhole(holderFiles(home, agentId).spec, SpecFile);

export const readHolderFile = (home: string, agentId: HeldName): HolderFile | null =>
  readWhole(holderFiles(home, agentId).holder, Claim);

export const readExitFile = (home: string, agentId: HeldName): ExitFile | null =>
  readWhole(holderFiles(home, agentId).exit, Exit);

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

const SpecFile: z.ZodType<Spec> = z.object({
  agentId: AgentId,
  agentType: Id.nullable(),
  taskId: Id.nullable(),
  policy: Id.nullable(),
  incarnation: z.number().int().positive(),
  store: z.string().max(100).nullable().optional(),
  command: z.array(z.string()).min(1),
  resumed: z.array(z.string()).min(1).optional(),
  session: z.string().max(200).optional(),
  opening: z.string().max(2000).optional(),
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
  io: z.enum(["terminal", "pipes"]),
  foreground: z.boolean(),
  family: AgentFamily,
  structured: z.boolean(),
  cols: z.number().int().positive(),
  rows: z.number().int().positive(),
  keepBytes: z.number().int().positive(),
  watch: z.object({ patterns: z.array(UserPattern), completionMarker: z.string().max(200) }),
  idleKillMs: z.number().positive().nullable().optional(),
  restart: RestartRule.optional(),
});

const Process = z.object({ pid: z.number().int().positive(), startTicks: z.number() });

const Claim: z.ZodType<HolderFile> = z.object({
  agentId: AgentId,
  incarnation: z.number().int().positive(),
  holder: Process,
  agent: Process.nullable(),
  socket: z.string(),
  tier: TreeTier,
  cgroup: z.string().nullable(),
  mark: z.string(),
  startedAt: z.number(),
  store: z.string().nullable().optional(),
  left: z.object({ known: z.array(Process), codexHomes: z.array(z.string()) }).optional(),
});

const Exit: z.ZodType<ExitFile> = z.object({
  incarnation: z.number().int(),
  at: z.number(),
  exit: ExitStatus,
  keptDownAt: z.number().optional(),
});

function readWhole<T>(file: string, schema: z.ZodType<T>): T | null {
  try {
    const parsed = schema.safeParse(JSON.parse(readFileSync(file, "utf8")));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
