import type { AssignmentStanding, MonoMs, PolicyMode, TaskPolicy, TaskReason, TaskRefusal } from "@rouse/contract";
import type { Doubt } from "../doubt.ts";
import type { Changed } from "./task-alert.ts";
import { claimOf, type TaskRecord } from "./task-record.ts";

export type TaskRules = TaskPolicy & {
  readonly maxRecoveries: number;
  /** In observe mode tasks are told of and stay where they are. */
  readonly mode: PolicyMode;
};

/** A fact about one task, parsed at the edge. */
export type TaskSignal =
  | { readonly kind: "created" }
  | ClaimSignal
  | WorkerReport
  | TaskOrderSignal
  | AgentDownSignal
  | { readonly kind: "agent-recovered"; readonly agentId: string; readonly incarnation: number }
  | { readonly kind: "checkpointed"; readonly checkpoint: string; readonly agentId: string | null }
  | { readonly kind: "wake" };

export interface ClaimSignal {
  readonly kind: "claim";
  readonly agentId: string;
  /** The agent's present life; `null` when it never registered. */
  readonly incarnation: number | null;
  readonly standing: AssignmentStanding;
  /** How many other tasks the agent holds. */
  readonly heldClaims: number;
  /** Everything the task depends on is completed. */
  readonly ready: boolean;
}

/** A worker's report about its task. `claim`: the number it was given, if it keeps track. */
export type WorkerReport = Speaker &
  (
    | { readonly kind: "refresh" | "complete" | "fail" | "release" }
    | {
        readonly kind: "update";
        readonly note?: string | undefined;
        readonly status?: "running" | "blocked" | undefined;
      }
  );

export interface Speaker {
  readonly agentId: string;
  readonly claim?: number | undefined;
}

/** A person's order. */
export type TaskOrderSignal = { readonly actor: string; readonly reason: string } & (
  | { readonly kind: "cancel" | "block" | "unblock" }
  /** `to`: the agent it is reserved for; `null`: whoever claims it. */
  | { readonly kind: "reassign"; readonly to: string | null }
);

/**
 * An agent went down, and what becomes of its tasks. Each fate `recovering` begins one recovery, unless it follows a
 * limit.
 */
export interface AgentDownSignal {
  readonly kind: "agent-down";
  readonly agentId: string;
  readonly because: TaskReason;
  readonly fate: "recovering" | "released" | "blocked";
  readonly afterLimit?: boolean;
}

export type TaskDoubt = Pick<Doubt, "gaps" | "frozen">;

export interface TaskSurroundings extends TaskDoubt {
  /** Other critical tasks that wait for a person. */
  readonly othersBlocked: number;
}

/** What a signal about a task is judged by. */
export interface TaskContext {
  readonly now: MonoMs;
  readonly rules: TaskRules;
  readonly doubt: TaskSurroundings;
  /** When its agent last got further with it, as its beats and steps tell. */
  readonly workedAt?: MonoMs | null;
}

/** `claim`: the number that the agent speaks with from now on; `null` when it has none, or for anybody else. */
export type TaskReply =
  | { readonly kind: "granted"; readonly claim: number | null }
  | { readonly kind: "refused"; readonly because: TaskRefusal };

/** The result of one turn for one task. */
export interface TaskTurn extends Changed {
  /** `null` when nobody waits for an answer. */
  readonly reply: TaskReply | null;
}

/** The reply to an agent. */
export const granted = (changed: Changed): TaskTurn => ({
  ...changed,
  reply: { kind: "granted", claim: claimOf(changed.task)?.number ?? null },
});

/** The reply to anybody else. */
export const done = (changed: Changed): TaskTurn => ({ ...changed, reply: { kind: "granted", claim: null } });

export const refused = (task: TaskRecord, because: TaskRefusal): TaskTurn => ({
  task,
  reply: { kind: "refused", because },
  events: [],
  actions: [],
});

/** Without a reply. */
export const noted = (changed: Changed): TaskTurn => ({ ...changed, reply: null });
