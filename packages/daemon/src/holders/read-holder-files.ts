import { readdirSync, readFileSync } from "node:fs";
import { AgentFamily, AgentId, ExitStatus, Id, RestartRule, TreeTier, UserPattern } from "@rouse/contract";
import {
  type ExitFile,
  type HolderFile,
  holderFiles,
  holdersFolder,
  isSame,
  readSecret,
  type Spec,
  type TreeRoot,
} from "@rouse/holder";
import { z } from "zod";
import type { Door } from "./connect-holder.ts";

/** The agents that Rouse ever started in this home, whether they still run or not. */
export function listHeld(home: string): string[] {
  try {
    return readdirSync(holdersFolder(home), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && AgentId.safeParse(entry.name).success)
      .map((entry) => entry.name)
      .sort();
  } catch {
    return [];
  }
}

// Each of these is `null` when the file is missing, cannot be read or is not (yet) whole.

export const readSpec = (home: string, agentId: string): Spec | null =>
  readWhole(holderFiles(home, agentId).spec, SpecFile);

export const readHolderFile = (home: string, agentId: string): HolderFile | null =>
  readWhole(holderFiles(home, agentId).holder, Claim);

export const readExitFile = (home: string, agentId: string): ExitFile | null =>
  readWhole(holderFiles(home, agentId).exit, Exit);

/** How to connect to an agent's holder. */
export const doorOf = (home: string, { agentId, socket, store }: HolderFile): Door => ({
  socket,
  secret: store === undefined ? null : readSecret(holderFiles(home, agentId).secret),
});

/** What the processes of an agent are found by when its holder is gone; `null`: its process was never noted. */
export const treeOf = ({ agent, mark, cgroup, left }: HolderFile): TreeRoot | null =>
  agent === null ? null : { agent, mark, cgroup, ownGroup: 0, useGroup: false, known: [], ...left };

export const isHolderAlive = ({ holder }: Pick<HolderFile, "holder">): boolean => isSame(holder);

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
    return schema.safeParse(JSON.parse(readFileSync(file, "utf8"))).data ?? null;
  } catch {
    return null;
  }
}
