import {
  type Checkpoint,
  type CheckpointList,
  type CheckpointVerdict,
  type CheckpointWithState,
  Fault,
  isCheckpointId,
  type NewCheckpoint,
  seconds,
} from "@rouse/contract";
import { taskPath } from "./agent-path.ts";
import { ask, searchFor, withSearch } from "./call-api.ts";
import { type ConnectOptions, type Line, openLine } from "./open-line.ts";

export interface CheckpointCalls {
  /**
   * Saves where a task stands: `step` is completed, `state` is what a successor needs to know. Resolves once it is on
   * the disk. A call without an answer may be repeated: it is answered with the checkpoint that exists. With
   * `workspace: true` each call makes a new one, because the working tree may have changed; such a call waits 30 s
   * longer for its answer.
   */
  saveCheckpoint(taskId: string, checkpoint: NewCheckpoint): Promise<Checkpoint>;
  /** Newest first. */
  checkpoints(taskId: string, page?: { readonly limit?: number }): Promise<Checkpoint[]>;
  checkpoint(id: string): Promise<CheckpointWithState>;
  /** Recomputes every hash of a task's chain. */
  verifyCheckpoints(taskId: string): Promise<CheckpointVerdict>;
}

export function checkpointCalls(line: Line): CheckpointCalls {
  return {
    saveCheckpoint: async (taskId, checkpoint) =>
      ask(checkpoint.workspace === true ? waitForSnapshot(line) : line, { path: chainPath(taskId), body: checkpoint }),
    async checkpoints(taskId, { limit } = {}) {
      return (await ask<CheckpointList>(line, { path: withSearch(chainPath(taskId), searchFor({ limit })) }))
        .checkpoints;
    },
    async checkpoint(id) {
      if (!isCheckpointId(id))
        throw new Fault("checkpoint-unknown", "no checkpoint has such an id: it is 64 hex digits");
      return ask(line, { path: `/api/v1/checkpoints/${id}` });
    },
    verifyCheckpoints: async (taskId) => ask(line, { path: `${chainPath(taskId)}/verify` }),
  };
}

/** A snapshot may take this long. */
const waitForSnapshot = (line: Line): Line => ({ ...line, timeout: line.timeout + seconds(30) });

/** The same calls alone, for callers that need no others. */
export const connectCheckpoints = (options: ConnectOptions): CheckpointCalls => checkpointCalls(openLine(options));

const chainPath = (taskId: string): string => `${taskPath(taskId)}/checkpoints`;
