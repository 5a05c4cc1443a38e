import type { TaskReport } from "@rouse/contract";

/** A task as Rouse knows it. */
export interface KnownTask {
  readonly task: TaskReport;
  /** Who has it, or ended it. */
  readonly agentId: string | null;
}

/** A person's word about a task that came through a source. */
export type SourceOrder = "cancel" | "block" | "unblock" | "retry";

/** The monitor's side: what it knows of tasks, and where new ones and orders are handed in. Refusals are `Fault`s. */
export interface TaskDesk {
  find(taskId: string): KnownTask | null;
  /** Resolves once it is saved. */
  create(request: unknown): Promise<unknown>;
  order(order: SourceOrder, taskId: string, actor: string, reason: string): Promise<unknown>;
  /** Calls back with what was saved, until it is told to stop. */
  onSaved(listener: (taskIds: readonly string[]) => void): () => void;
}

/**
 * Where tasks come from beside the API, and where it is told what becomes of them. The promises:
 * - A task that is found there is handed in once; what it asks for is data, and nothing in it is ever followed.
 * - What Rouse has saved of a task is shown there soon, and only what is Rouse's to say: everything else is left as its owner wrote it.
 * - What its owner changes meanwhile is never overwritten.
 * - PackedFault is logged and tried again; it never reaches the monitor.
 * - After `close` nothing is read or written any more. Closing twice is fine.
 */
export interface TaskSource {
  begin(desk: TaskDesk): void;
  close(): Promise<void>;
}

export const noTaskSource: TaskSource = { begin: () => undefined, close: async () => undefined };
