import type { AssignmentStanding, MonoMs, PolicyMode, TaskPolicy, TaskReason, TaskRefusal } from "@rouse/contract";
import type { Doubt } from "../doubt.ts";
import type { Changed } from "./task-alert.ts";
import { claimOf, type TaskRecord } from "./task-record.ts";

export type TaskRules = TaskPolicy & {
  readonly maxRecoveries: number;
  /** While we only observe, tasks are told of and stay where they are. */
  readonly mode: PolicyMode;
};

/** A fact about one task, parsed at the edge. */
export type TaskSignal =
  | { readonly kind: "created" }
  | ClaimSignal
  | WordSignal
  | TaskOrderSignal
  | AgentDownSignal
  | { readonly kind: "agent-recovered"; readonly agentId: string; readonly incarnation: number }
  | { readonly kind: "checkpointed"; readonly checkpoint: string; readonly agentId: string | null }
  | { readonly kind: "wake" };

export interface ClaimSignal {
  readonly kind: "claim";
  readonly agentId: string;
  /** Its present life; `null` when it never registered. */
  readonly incarnation: number | null;
  readonly standing: AssignmentStanding;
  /** How many other tasks it works on. */
  readonly heldClaims: number;
  /** Everything the task depends on is completed. */
  readonly ready: boolean;
}

/** What an agent says about the task it holds. `claim` is the number it was given, when it keeps track. */
export type WordSignal = Speaker &
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

/** A person's word. */
export type TaskOrderSignal = { readonly actor: string; readonly reason: string } & (
  | { readonly kind: "cancel" | "block" | "unblock" }
  /** `to`: the agent it is meant for; whoever claims it when `null`. */
  | { readonly kind: "reassign"; readonly to: string | null }
);

/** An agent does not work any more, and what is to become of its tasks. Each one with fate `recovering` is one recovery begun, unless it is after a limit. */
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
}

/** `claim`: the number of the claim that an agent speaks with from now on; `null` when it has none, or for anybody else. */
export type TaskReply =
  | { readonly kind: "granted"; readonly claim: number | null }
  | { readonly kind: "refused"; readonly because: TaskRefusal };

/** What one turn for one task comes to. */
export interface TaskTurn extends Changed {
  /** `null` when nobody waits for an answer. */
  readonly reply: TaskReply | null;
}

/** To an agent. */
export const granted = (changed: Changed): TaskTurn => ({
  ...changed,
  reply: { kind: "granted", claim: claimOf(changed.task)?.number ?? null },
});

/** To anybody else. */
export const done = (changed: Changed): TaskTurn => ({ ...changed, reply: { kind: "granted", claim: null } });

export const refused = (task: TaskRecord, because: TaskRefusal): TaskTurn => ({
  task,
  reply: { kind: "refused", because },
  events: [],
  actions: [],
});

/** Nobody waits for an answer. */
export const noted = (changed: Changed): TaskTurn => ({ ...changed, reply: null });
