import { z } from "zod";
import { CallerName } from "./audit.ts";
import { AgentId } from "./heartbeat.ts";
import { checkpointIdPattern } from "./ids.ts";
import { Next } from "./page.ts";

const Sha256 = z.string().regex(checkpointIdPattern, "must be 64 hex digits");
export const CheckpointId = Sha256.meta({ id: "CheckpointId" });

/** A commit that holds the agent's working tree, untracked files included. */
export const WorkspaceSnapshot = z
  .object({
    commit: z.string().regex(/^[0-9a-f]{40,64}$/),
    folder: z.string().max(4096),
    ref: z.string().max(500).optional(),
  })
  .meta({ id: "WorkspaceSnapshot" });
export type WorkspaceSnapshot = z.infer<typeof WorkspaceSnapshot>;

/** `step` is the number of the completed step: a replacement goes on after it. */
export const CheckpointRequest = z
  .strictObject({
    step: z.number().int().nonnegative().max(1_000_000_000),
    stepName: z.string().max(200).default(""),
    /** Whatever the agent needs to go on. */
    state: z.unknown().default(null),
    /**
     * The checkpoint it went on from: any known one of its task, or `null` when it started over; the newest when it
     * does not say. A chain with a hole is refused.
     */
    parent: CheckpointId.nullable().optional(),
    agentId: AgentId.optional(),
    /** Also keep the agent's working tree; only for one started by Rouse. */
    workspace: z.union([z.boolean(), WorkspaceSnapshot]).optional(),
  })
  .meta({ id: "CheckpointRequest" });
export type CheckpointRequest = z.infer<typeof CheckpointRequest>;
/** The same as it is sent. */
export type NewCheckpoint = z.input<typeof CheckpointRequest>;

/** Where the state lies: in the row itself, or, when it is large, in a file named by its hash. */
export const StatePlace = z.enum(["inline", "file"]).meta({ id: "StatePlace" });

/** What the id covers: the id is the SHA-256 of the canonical JSON (RFC 8785) of all the rest. */
export const CheckpointHead = z
  .object({
    taskId: z.string(),
    /** Place in the chain of its task, from 1 on. */
    number: z.number().int(),
    step: z.number().int(),
    stepName: z.string(),
    agentId: z.string().nullable(),
    incarnation: z.number().int().nullable(),
    parent: CheckpointId.nullable(),
    /** SHA-256 of the state as canonical JSON. */
    stateHash: Sha256,
    stateBytes: z.number().int(),
    workspace: WorkspaceSnapshot.nullable(),
    time: z.string(),
  })
  .meta({ id: "CheckpointHead" });
export type CheckpointHead = z.infer<typeof CheckpointHead>;

export const Checkpoint = CheckpointHead.extend({ id: CheckpointId }).meta({ id: "Checkpoint" });
export type Checkpoint = z.infer<typeof Checkpoint>;

/** What can be wrong with a checkpoint. */
export const CheckpointFlaw = z
  .enum(["head-changed", "state-missing", "state-changed", "parent-missing", "parent-flawed", "unreadable", "missing"])
  .meta({ id: "CheckpointFlaw" });
export type CheckpointFlaw = z.infer<typeof CheckpointFlaw>;

/** Fields of its head are `null` where that cannot be read; of a missing checkpoint only its id is known. */
export const CheckpointCheck = z
  .object({
    id: z.string(),
    number: z.number().int().nullable(),
    step: z.number().int().nullable(),
    stepName: z.string().nullable(),
    time: z.string().nullable(),
    flaws: z.array(CheckpointFlaw),
    /** Its state is no longer kept, because the task has many newer checkpoints. That is no flaw. */
    stateForgotten: z.boolean().optional(),
  })
  .meta({ id: "CheckpointCheck" });
export type CheckpointCheck = z.infer<typeof CheckpointCheck>;

export const CheckpointList = z
  .object({ taskId: z.string(), checkpoints: z.array(Checkpoint), next: Next })
  .meta({ id: "Checkpoints" });
export type CheckpointList = z.infer<typeof CheckpointList>;
/** Newest first. `more`: there are older ones that were not checked. */
export const CheckpointVerdict = z
  .object({ taskId: z.string(), sound: z.boolean(), checks: z.array(CheckpointCheck), more: z.boolean() })
  .meta({ id: "CheckpointVerdict" });
export type CheckpointVerdict = z.infer<typeof CheckpointVerdict>;

/** A checkpoint with its state. */
export const CheckpointWithState = Checkpoint.extend({ state: z.unknown() }).meta({ id: "CheckpointWithState" });
export type CheckpointWithState = z.infer<typeof CheckpointWithState>;

/** What was lost on the way back: how many newer checkpoints could not be used, and whether the task starts over. */
export const LostWork = z
  .object({
    checkpoints: z.number().int(),
    steps: z.number().int().nullable(),
    flaws: z.array(CheckpointFlaw),
    startsOver: z.boolean(),
    /** There are older checkpoints that were not checked: one of them may be right. */
    olderUnread: z.boolean().optional(),
    /** Whether its program resumes the conversation of its last life. Absent for programs that keep none. */
    conversation: z.enum(["kept", "lost"]).optional(),
  })
  .meta({ id: "LostWork" });
export type LostWork = z.infer<typeof LostWork>;

/** What a replacement is told: by ROUSE_RECOVERY, by a file, and by the acknowledgement of its first beat. */
export const RecoveryContext = z
  .object({
    taskId: z.string().nullable(),
    checkpoint: z.string().nullable(),
    /** The completed step; it goes on after it. `null`: from the start. */
    step: z.number().int().nullable(),
    stepName: z.string().nullable(),
    reason: z.string(),
    lost: LostWork,
    attempt: z.number().int(),
    /** File with the state, JSON; only for its owner. */
    stateFile: z.string().nullable(),
    workspace: WorkspaceSnapshot.nullable(),
  })
  .meta({ id: "RecoveryContext" });
export type RecoveryContext = z.infer<typeof RecoveryContext>;

export const RecoveryRequest = z
  .strictObject({
    actor: CallerName.optional(),
    reason: z.string().max(500).default("no reason given"),
  })
  .meta({ id: "RecoveryRequest" });
export type RecoveryRequest = z.infer<typeof RecoveryRequest>;

export const RecoveryPhase = z
  .enum(["none", "stopping", "waiting", "starting", "probation", "recovered", "handed-to-a-person"])
  .meta({ id: "RecoveryPhase" });
export type RecoveryPhase = z.infer<typeof RecoveryPhase>;

export const RecoveryStatus = z
  .object({
    taskId: z.string(),
    agentId: z.string().nullable(),
    incarnation: z.number().int().nullable(),
    phase: RecoveryPhase,
    attempts: z.number().int(),
    attemptsAllowed: z.number().int(),
    nextAttemptAt: z.string().nullable(),
    probationUntil: z.string().nullable(),
    last: RecoveryContext.nullable(),
    because: z.string().nullable(),
  })
  .meta({ id: "RecoveryStatus" });
export type RecoveryStatus = z.infer<typeof RecoveryStatus>;
