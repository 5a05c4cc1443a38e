import type { AssignmentStanding } from "@rouse/contract";
import type { TaskWorker } from "../actors/task-worker.ts";
import type { TaskCall } from "../world/task-line.ts";
import type { TaskTruth } from "./task-truth.ts";

interface Parts {
  readonly tasks: ReadonlyMap<string, TaskTruth>;
  readonly workers: ReadonlyMap<string, TaskWorker>;
  readonly standingOf: (agentId: string) => AssignmentStanding;
  readonly isReady: (task: TaskTruth) => boolean;
  readonly quarantined: ReadonlySet<string>;
}

/** The number that whoever speaks for the task has to name. */
const numberOf = ({ status, claim, claims }: TaskTruth): number | undefined =>
  over.has(status) ? claims : claim?.number;

const over: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Whether a refusal has its reason: nobody is kept from a task that they may have, or speak for. `states`: how the task stood around the call. */
export function judgeRefusal({ tasks, workers, standingOf, isReady, quarantined }: Parts) {
  const isHeldByOther = ({ claim, status, reservedFor }: TaskTruth, agentId: string): boolean =>
    (claim !== null && claim.agentId !== agentId) ||
    (status === "pending" && reservedFor !== null && reservedFor !== agentId);

  /** A later life has it, or this one is not the one that was heard of last. */
  const isFormerLife = (agentId: string, life: number | null): boolean =>
    life !== null && life < (workers.get(agentId)?.incarnation ?? 0);

  const holdsAnother = (agentId: string, taskId: string | null): boolean =>
    [...tasks.values()].some((task) => task.claim?.agentId === agentId && task.taskId !== taskId);

  function mayRefuseAgent(
    { agentId, life, taskId, claim }: Extract<TaskCall, { by: "agent" }>,
    because: string,
    any: (isSo: (task: TaskTruth) => boolean) => boolean,
  ): boolean {
    const worker = workers.get(agentId);
    switch (because) {
      case "taken":
        return any((task) => isHeldByOther(task, agentId)) || isFormerLife(agentId, life);
      case "not-ready":
        return any((task) => !isReady(task) || task.status !== "pending");
      case "blocked":
      case "recoveries-exhausted":
        return any(({ status }) => status === "blocked");
      case "being-recovered":
        return any(({ status }) => status === "recovering");
      case "over":
        return any(({ status }) => over.has(status));
      case "not-yours":
        return any((task) => task.claim?.agentId !== agentId);
      case "claim-lost":
        // A clock that was overdue takes the claim in the same turn.
        return any((task) => (claim === undefined ? task.claim?.agentId !== agentId : claim !== numberOf(task)));
      case "few-assignments":
        return standingOf(agentId) === "few" && holdsAnother(agentId, taskId);
      case "disabled":
        return standingOf(agentId) === "none";
      case "quarantined":
        return quarantined.has(agentId);
      case "agent-over":
        return worker?.saidDone === true;
      case "forbidden":
        return isFormerLife(agentId, life);
      case "task-unknown":
        return taskId !== null && !tasks.has(taskId);
      default:
        return false;
    }
  }

  function mayRefusePerson(
    { verb, taskId, body }: Extract<TaskCall, { by: "person"; taskId: string }>,
    because: string,
    any: (isSo: (task: TaskTruth) => boolean) => boolean,
  ): boolean {
    switch (because) {
      case "over":
        return any(({ status }) => over.has(status));
      case "exists":
        return verb === "retry" ? any(({ status }) => !over.has(status)) : tasks.has(taskId);
      case "agent-over":
      case "agent-unknown":
        return verb === "reassign" && isMissed(body["to"]);
      case "task-unknown":
        return !tasks.has(taskId);
      // Only what would wait for itself: a task that is there was made before.
      case "bad-request":
        return verb === "create" && closesCircle(taskId, body["dependsOn"] as readonly string[]);
      default:
        return false;
    }
  }

  const isMissed = (to: unknown): boolean => {
    const worker = typeof to === "string" ? workers.get(to) : undefined;
    return (
      worker !== undefined &&
      (worker.state.kind !== "working" || worker.saidDone || worker.knownLife < worker.incarnation)
    );
  };

  function closesCircle(taskId: string, dependsOn: readonly string[]): boolean {
    const seen = new Set<string>();
    const open = [...dependsOn];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (at === taskId) return true;
      if (seen.has(at)) continue;
      seen.add(at);
      open.push(...(tasks.get(at)?.dependsOn ?? []));
    }
    return false;
  }

  return (call: Exclude<TaskCall, { verb: "trust" }>, because: string, states: readonly TaskTruth[]): boolean => {
    const any = (isSo: (task: TaskTruth) => boolean): boolean => states.some(isSo);
    return call.by === "agent" ? mayRefuseAgent(call, because, any) : mayRefusePerson(call, because, any);
  };
}

export type MayRefuse = ReturnType<typeof judgeRefusal>;
