import { type Checkpoint, Fault, TaskRequest, type WorkspaceSnapshot } from "@rouse/contract";
import { claimOf, isTaskOver } from "@rouse/core";
import type { Moment } from "../engine/steady-clock.ts";
import type { Workspaces } from "../ports/workspaces.ts";
import type { SharedServices } from "../shared-services.ts";
import type { Tasks } from "../tasks/host-tasks.ts";
import type { CheckpointParts, CheckpointSpeaker } from "./keep-checkpoints.ts";

interface AttendingParts extends Pick<SharedServices, "roster" | "agents"> {
  readonly tasks: Tasks;
  readonly workspaces: Workspaces;
  readonly folderOf: (agentId: string) => string | null;
}

/** Ties checkpoints to tasks and agents: who may save one, whose folder it holds, and who learns of it. */
export function attendCheckpoints({
  roster,
  agents,
  tasks,
  workspaces,
  folderOf,
}: AttendingParts): Pick<CheckpointParts, "admit" | "takeSnapshot" | "newestOf" | "alsoInCommit"> {
  /**
   * Refuses a task that is over or another agent's, and a life that is over. An unknown task is fine: it begins here.
   */
  function admit(taskId: string, { agentId, incarnation }: CheckpointSpeaker): void {
    const task = tasks.find(taskId);
    if (task !== undefined && isTaskOver(task))
      throw new Fault("task-refused", `task ${taskId} is ${task.state.status}; nothing can be added to it`);
    const present = agentId === null ? undefined : roster.find(agentId)?.record.life.incarnation;
    if (incarnation !== null && present !== undefined && incarnation < present)
      throw new Fault("forbidden", `incarnation ${incarnation} of ${agentId} is over; the current one is ${present}`);
    const holder = task === undefined ? null : (claimOf(task)?.agentId ?? null);
    if (agentId !== null && holder !== null && holder !== agentId)
      throw new Fault("task-refused", `task ${taskId} is ${holder}'s now`);
  }

  async function takeSnapshot(
    agentId: string,
    incarnation: number | null,
    key: string,
  ): Promise<WorkspaceSnapshot | null> {
    const folder = folderOf(agentId);
    if (folder === null)
      throw new Fault("not-supervised", `${agentId} was not started by Rouse: its folder is not known`);
    const life = incarnation ?? roster.find(agentId)?.record.life.incarnation ?? 1;
    const outcome = await workspaces.snapshot({ agentId, incarnation: life, key, folder, reason: "checkpoint" });
    if (outcome.kind === "nothing-to-save") return null;
    if (outcome.kind === "failed")
      throw new Fault("checkpoint-refused", `its work could not be saved: ${outcome.problem}`);
    const { commit, ref, folder: top } = outcome.snapshot;
    return { commit, ref, folder: top };
  }

  const newestOf = (taskId: string): string | null => tasks.find(taskId)?.lastCheckpoint ?? null;

  function alsoInCommit({ taskId, id, agentId }: Checkpoint, moment: Moment): void {
    if (tasks.find(taskId) === undefined) begin(taskId, agentId, moment);
    tasks.noteCheckpoint(taskId, id, agentId, moment);
    const task = tasks.find(taskId);
    const whose = agentId ?? (task === undefined ? null : (claimOf(task)?.agentId ?? null));
    const watched = whose === null ? undefined : roster.find(whose);
    if (watched !== undefined) agents.take(watched, { kind: "checkpointed", checkpoint: id }, moment);
  }

  /** Announces the task, so that it is listed, watched, and removed when it is old. */
  function begin(taskId: string, agentId: string | null, moment: Moment): void {
    tasks.create(TaskRequest.parse({ taskId }), moment);
    if (agentId !== null) tasks.claim(taskId, agentId, moment);
  }

  return { admit, takeSnapshot, newestOf, alsoInCommit };
}
