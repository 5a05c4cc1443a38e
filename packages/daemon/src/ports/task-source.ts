import type { TaskReport } from "@rouse/contract";

/** A task as Rouse knows it. */
export interface KnownTask {
  readonly task: TaskReport;
  /** Who has it, or ended it. */
  readonly agentId: string | null;
}

/** A person's order about a task that came through a source. */
export type SourceOrder = "cancel" | "block" | "unblock" | "retry";

/** The monitor's side: looks tasks up, and takes new ones and orders. Refusals are `Fault`s. */
export interface TaskDesk {
  find(taskId: string): KnownTask | null;
  /** Resolves once it is saved. */
  create(request: unknown): Promise<unknown>;
  order(order: SourceOrder, taskId: string, actor: string, reason: string): Promise<unknown>;
  /** Calls back with what was saved, until it is told to stop. */
  onSaved(listener: (taskIds: readonly string[]) => void): () => void;
}

/**
 * Where tasks come from beside the API, and where their status is shown. The promises:
 * - A task that is found there is created once. Its text is data, and nothing in it is ever followed.
 * - The status of a task is shown there soon after it is saved. Everything else is left as its owner wrote it.
 * - What the owner changes meanwhile is never overwritten.
 * - What fails is logged and tried again; it never reaches the monitor.
 * - After `close` nothing is read or written any more. Closing twice is fine.
 */
export interface TaskSource {
  begin(desk: TaskDesk): void;
  close(): Promise<void>;
}
