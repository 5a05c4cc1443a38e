import {
  type Checkpoint,
  type CheckpointList,
  type CheckpointVerdict,
  type CheckpointWithState,
  Fault,
  isCheckpointId,
  isId,
  type NewCheckpoint,
  seconds,
} from "@rouse/contract";
import { ask, searchFor, withSearch } from "./call-api.ts";
import { type ConnectOptions, type Line, openLine } from "./open-line.ts";

export interface CheckpointCalls {
  /**
   * Saves where a task stands: `step` is completed, `state` is what whoever goes on needs to know. Resolves once it is on the disk. A call without an
   * answer may be repeated: the same sent again is answered with the one that is there. Only with `workspace: true` it is a new one each time, because
   * the working tree may be another. Such a call waits 30 s longer than others for its answer.
   */
  saveCheckpoint(taskId: string, checkpoint: NewCheckpoint): Promise<Checkpoint>;
  /** Newest first. */
  checkpoints(taskId: string, page?: { readonly limit?: number }): Promise<Checkpoint[]>;
  checkpoint(id: string): Promise<CheckpointWithState>;
  /** Works every hash of a task's chain out again. */
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

/** So long a snapshot may take. */
const waitForSnapshot = (line: Line): Line => ({ ...line, timeout: line.timeout + seconds(30) });

/** The same calls by themselves, for whoever needs no others. */
export const connectCheckpoints = (options: ConnectOptions): CheckpointCalls => checkpointCalls(openLine(options));

/** An id such as `..` would make another path of it. */
function chainPath(taskId: string): string {
  if (isId(taskId)) return `/api/v1/tasks/${encodeURIComponent(taskId)}/checkpoints`;
  throw new Fault("task-unknown", "no task has such an id: it takes 1 to 128 letters, digits or . _ : @ + -");
}
