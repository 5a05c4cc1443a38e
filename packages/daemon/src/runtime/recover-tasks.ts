import {
  type EpochMs,
  Fault,
  type MonoMs,
  type OrderAnswer,
  type OrderRequest,
  type RecoveryPhase,
  type RecoveryStatus,
  toIso,
} from "@rouse/contract";
import { type Action, type AgentRecord, agentOf } from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { Revival } from "../ports/holders.ts";
import type { Checkpoints } from "./keep-checkpoints.ts";
import type { Tasks } from "./keep-tasks.ts";
import type { Roster, Watched } from "./roster.ts";

interface RecoveryParts {
  readonly roster: Roster;
  readonly tasks: Tasks;
  readonly checkpoints: Pick<Checkpoints, "contextFor">;
  readonly config: () => Config;
  readonly toWall: (at: MonoMs) => EpochMs;
  readonly recover: (agentId: string, request: OrderRequest) => Promise<OrderAnswer>;
}

/** Bringing a task's agent back, by itself or by a person's word, and how far that has come. */
export function recoverTasks({ roster, tasks, checkpoints, config, toWall, recover }: RecoveryParts) {
  /** Whoever has the task, had it last, or says that it works on it. */
  function findAgent(taskId: string): Watched | undefined {
    const task = tasks.find(taskId);
    const agentId = task === undefined ? null : agentOf(task);
    const known = agentId === null ? undefined : roster.find(agentId);
    if (known !== undefined) return known;
    for (const watched of roster.all()) if (watched.record.taskId === taskId) return watched;
    return undefined;
  }

  function mustFind(taskId: string): Watched | undefined {
    const watched = findAgent(taskId);
    if (watched === undefined && tasks.find(taskId) === undefined)
      throw new Fault("task-unknown", "no such task; `rouse tasks` lists those that are known");
    return watched;
  }

  return {
    findAgent,
    /** What the next life of an agent is given: from the newest checkpoint that can be used, or from the start. */
    async revivalFor({
      agentId,
      taskId,
      reason,
      attempt,
    }: Extract<Action, { kind: "restart-agent" }>): Promise<Revival> {
      const { context, state } = await checkpoints.contextFor(taskId, { reason, attempt });
      const session = roster.find(agentId)?.record.terminal?.session?.id ?? null;
      return { context: { ...context, stateFile: null }, state, session };
    },
    async recoverTask(taskId: string, request: OrderRequest): Promise<OrderAnswer> {
      const watched = mustFind(taskId);
      if (watched === undefined)
        throw new Fault("task-refused", `nobody works on ${taskId}: it can be claimed by any agent`);
      return recover(watched.record.agentId, request);
    },
    recoveryStatus(taskId: string): RecoveryStatus {
      const watched = mustFind(taskId);
      if (watched === undefined) return nobody(taskId);
      return describeRecovery(taskId, watched.record, config().policyFor(watched.record).recovery.maxPerTask, toWall);
    },
  };
}

export type TaskRecovery = ReturnType<typeof recoverTasks>;

const nobody = (taskId: string): RecoveryStatus => ({
  taskId,
  agentId: null,
  incarnation: null,
  phase: "none",
  attempts: 0,
  attemptsAllowed: 0,
  nextAttemptAt: null,
  probationUntil: null,
  last: null,
  because: null,
});

function describeRecovery(
  taskId: string,
  record: AgentRecord,
  attemptsAllowed: number,
  toWall: (at: MonoMs) => EpochMs,
): RecoveryStatus {
  const { incident, handedOver, recovered, recoveries, agentId, incarnation } = record;
  const phase = phaseOf(record);
  const stage = incident?.stage;
  const iso = (at: MonoMs): string => toIso(toWall(at));
  return {
    taskId,
    agentId,
    incarnation,
    phase,
    attempts: recoveries.filter((attempt) => attempt.taskId === taskId).length,
    attemptsAllowed,
    nextAttemptAt: phase === "waiting" && record.wakeAt !== null ? iso(record.wakeAt) : null,
    probationUntil: stage?.kind === "probation" ? iso(stage.until) : null,
    last: recovered?.context ?? null,
    because: handedOver?.because ?? (incident === null ? null : `${incident.illness}: ${incident.cause}`),
  };
}

function phaseOf({ incident, handedOver, restart, recovered, stop }: AgentRecord): RecoveryPhase {
  if (restart !== null && restart.problem === null) return "starting";
  if (handedOver !== null) return "handed-to-a-person";
  if (incident?.stage.kind === "probation") return "probation";
  if (incident?.stage.kind === "down") return "waiting";
  if (incident?.stage.kind === "stopping" || (stop !== null && stop.outcome === null)) return "stopping";
  return recovered === null ? "none" : "recovered";
}
