import { AgentFamily, AgentId, ExitStatus, Id, RestartRule, TreeTier, UserPattern } from "@rouse/contract";
import { z } from "zod";

/** How a holder reads its agent's terminal; the monitor sends it anew when the policy changes. */
export const WatchSettings = z.object({
  patterns: z.array(UserPattern),
  /** Text that says the work is done. */
  completionMarker: z.string().max(200),
});
export type WatchSettings = z.infer<typeof WatchSettings>;

/** Everything needed to start an agent, and to start it again the same way. */
export const Spec = z.object({
  agentId: AgentId,
  agentType: Id.nullable(),
  taskId: Id.nullable(),
  policy: Id.nullable(),
  incarnation: z.number().int().positive(),
  /** The database it is started for; absent or `null`: that of the first monitor that comes. */
  store: z.string().max(100).nullable().optional(),
  command: z.array(z.string()).min(1),
  /** What this life is started with instead, when its program goes on with a conversation it had. */
  resumed: z.array(z.string()).min(1).optional(),
  /** That conversation. */
  session: z.string().max(200).optional(),
  /** What is typed into its program when that shows its input. */
  opening: z.string().max(2000).optional(),
  cwd: z.string(),
  /** The whole environment, the agent's own token included: the file is for its owner only. */
  env: z.record(z.string(), z.string()),
  /** A terminal of its own, or pipes when it was started in the middle of some. */
  io: z.enum(["terminal", "pipes"]),
  foreground: z.boolean(),
  family: AgentFamily,
  structured: z.boolean(),
  cols: z.number().int().positive(),
  rows: z.number().int().positive(),
  /** How much of the output is kept. */
  keepBytes: z.number().int().positive(),
  watch: WatchSettings,
  /** Its owner's own rule: stop it after so long without any sign of work. Files of an earlier version do not have it. */
  idleKillMs: z.number().positive().nullable().optional(),
  /** What follows when it ends. Files of an earlier version do not have it, nor has what was started in a person's terminal. */
  restart: RestartRule.optional(),
});
export type Spec = z.infer<typeof Spec>;

/** A process, told from another that got the same number later by when it was started (clock ticks since boot). */
export const ProcessId = z.object({ pid: z.number().int().positive(), startTicks: z.number() });
export type ProcessId = z.infer<typeof ProcessId>;

/** Who holds an agent. The file exists for as long as the name is taken, and is stale when its `holder` process is gone. */
export const HolderFile = z.object({
  agentId: AgentId,
  incarnation: z.number().int().positive(),
  holder: ProcessId,
  agent: ProcessId.nullable(),
  socket: z.string(),
  tier: TreeTier,
  /** Folder of the agent's control group. */
  cgroup: z.string().nullable(),
  /** Found in the environment of every process of the tree that did not clean it. */
  mark: z.string(),
  startedAt: z.number(),
  /** The database it belongs to, `null` before the first monitor came. Holders of earlier versions have none, and ask for no secret. */
  store: z.string().nullable().optional(),
  /** When it left processes: which, and the homes of Codex it ran with, because a server there may be its to end. */
  left: z.object({ known: z.array(ProcessId), codexHomes: z.array(z.string()) }).optional(),
});
export type HolderFile = z.infer<typeof HolderFile>;

export const ExitFile = z.object({
  incarnation: z.number().int(),
  at: z.number(),
  exit: ExitStatus,
  /** When a person said, while no monitor ran, that it is to stay down. */
  keptDownAt: z.number().optional(),
});
export type ExitFile = z.infer<typeof ExitFile>;
