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
import {
  type Action,
  type AgentRecord,
  agentOf,
  isConversationFull,
  isOver,
  isStartingAgain,
  isTaskOver,
  type TaskRecord,
  takenMeanwhile,
  whatHoldsBack,
} from "@rouse/core";
import type { Watched } from "../agents/roster.ts";
import type { Checkpoints } from "../checkpoints/keep-checkpoints.ts";
import { policySubject } from "../config/choose-policy.ts";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import { type Given, orderLine, refusalLine } from "../orders/note-orders.ts";
import type { Revival } from "../ports/holders.ts";
import type { SharedServices } from "../shared-services.ts";
import type { Tasks } from "./host-tasks.ts";

interface RecoveryParts extends Pick<SharedServices, "roster" | "config" | "doubt" | "toWall" | "readClock"> {
  readonly tasks: Tasks;
  readonly checkpoints: Pick<Checkpoints, "contextFor">;
  readonly recover: (agentId: string, request: Given<OrderRequest>) => Promise<OrderAnswer>;
  readonly commits: Pick<GroupCommit, "saved">;
  readonly addToTrail: Engine["addToTrail"];
}

/** Brings the agent of a task back, unasked or by a person's order, and says how far that has come. */
export function recoverTasks(parts: RecoveryParts) {
  const { roster, tasks, checkpoints, config, doubt, toWall, recover, commits, readClock, addToTrail } = parts;

  /** The agent that has the task, had it last, or names it in its heartbeats. */
  function findAgent(taskId: string): Watched | undefined {
    const task = tasks.find(taskId);
    const agentId = task === undefined ? null : agentOf(task);
    const known = agentId === null ? undefined : roster.find(agentId);
    if (known !== undefined) return known;
    for (const watched of roster.all()) if (watched.record.task.id === taskId) return watched;
    return undefined;
  }

  function mustFind(taskId: string): Watched | undefined {
    const watched = findAgent(taskId);
    if (watched === undefined) tasks.mustFind(taskId);
    return watched;
  }

  async function refuse(
    taskId: string,
    { actor, as, reason }: Given<OrderRequest>,
    because: string,
    sentence: string,
  ): Promise<never> {
    const order = { order: "restart", subject: taskId, actor, as, reason };
    const { time } = readClock();
    addToTrail(orderLine(order, time));
    addToTrail(refusalLine(order, because, time));
    await commits.saved();
    throw new Fault("task-refused", sentence);
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
      const task = taskId === null ? undefined : tasks.find(taskId);
      const isAnothers = task !== undefined && takenMeanwhile(task, agentId) !== null;
      const { context, state } = await checkpoints.contextFor(isAnothers ? null : taskId, { reason, attempt });
      const record = roster.find(agentId)?.record;
      const terminal = record?.seen.terminal ?? null;
      const isFull =
        record !== undefined &&
        terminal !== null &&
        isConversationFull(terminal, config().policyFor(policySubject(record)));
      const session = terminal?.session?.id ?? null;
      return { context: { ...context, stateFile: null }, state, session, ...(isFull ? { sessionFull: true } : {}) };
    },
    async recoverTask(taskId: string, request: Given<OrderRequest>): Promise<OrderAnswer> {
      const watched = mustFind(taskId);
      const over = whyOver(tasks.find(taskId));
      if (over !== null) return refuse(taskId, request, "over", over);
      if (watched === undefined)
        return refuse(taskId, request, "nobodys", `nobody works on ${taskId}: it can be claimed by any agent`);
      return recover(watched.record.agentId, request);
    },
    recoveryStatus(taskId: string): RecoveryStatus {
      const watched = mustFind(taskId);
      if (watched === undefined) return nobody(taskId);
      const { record } = watched;
      const attempts = tasks.find(taskId)?.recoveries ?? countOwn(record, taskId);
      const attemptsAllowed = config().policyFor(policySubject(record)).recovery.maxPerTask;
      const { now } = readClock();
      const policy = config().policyFor(policySubject(record));
      const held = whatHoldsBack(record, { now, policy, doubt: doubt.about(record, now) });
      return { taskId, attempts, attemptsAllowed, ...describeRecovery(record, held, toWall) };
    },
  };
}

export type TaskRecovery = ReturnType<typeof recoverTasks>;

/** Why nobody is brought back for a task that is over: its checkpoints would be refused. */
function whyOver(task: TaskRecord | undefined): string | null {
  if (task === undefined || !isTaskOver(task)) return null;
  const { taskId, state } = task;
  const way =
    state.status === "completed" ? "there is nothing to go on with" : `\`rouse tasks retry ${taskId}\` begins it anew`;
  return `${taskId} is ${state.status}: ${way}`;
}

const nobody = (taskId: string): RecoveryStatus => ({
  taskId,
  agentId: null,
  incarnation: null,
  phase: "none",
  attempts: 0,
  attemptsAllowed: 0,
  nextAttemptAt: null,
  heldBy: null,
  probationUntil: null,
  last: null,
  because: null,
});

/** For a task that was never announced: the agent's record counts restarts after a crash without their task. */
const countOwn = ({ recovery: { attempts: recoveries, restarts } }: AgentRecord, taskId: string): number =>
  Math.max(recoveries.filter((attempt) => attempt.taskId === taskId).length, restarts.length);

function describeRecovery(
  record: AgentRecord,
  held: ReturnType<typeof whatHoldsBack>,
  toWall: (at: MonoMs) => EpochMs,
): Omit<RecoveryStatus, "taskId" | "attempts" | "attemptsAllowed"> {
  const { agentId } = record;
  const { incident } = record.ladder;
  const { recovered } = record.recovery;
  const { incarnation } = record.life;
  const stage = incident?.stage;
  const iso = (at: MonoMs): string => toIso(toWall(at));
  const nextAt = held?.until ?? (stage?.kind === "down" ? record.wakeAt : null);
  return {
    agentId,
    incarnation,
    phase: phaseOf(record),
    nextAttemptAt: nextAt === null ? null : iso(nextAt),
    heldBy: held?.because ?? null,
    probationUntil: stage?.kind === "probation" ? iso(stage.until) : null,
    last: recovered?.context ?? null,
    because: whyOf(record),
  };
}

function whyOf({ ladder: { handedOver, incident }, ending: { restart } }: AgentRecord): string | null {
  if (handedOver !== null) return handedOver.because;
  if (incident !== null) return `${incident.illness}: ${incident.cause}`;
  return restart?.problem ?? null;
}

function phaseOf(record: AgentRecord): RecoveryPhase {
  const { incident, handedOver } = record.ladder;
  const { restart, stop } = record.ending;
  const { recovered } = record.recovery;
  if (isStartingAgain(record)) return "starting";
  if (handedOver !== null) return "handed-to-a-person";
  if (incident?.stage.kind === "probation") return "probation";
  if (incident?.stage.kind === "down") return "waiting";
  if (incident?.stage.kind === "stopping" || (stop !== null && stop.outcome === null)) return "stopping";
  // Its process has ended and an escalation is open: an earlier recovery says nothing about now.
  if (incident !== null && isOver(record)) return "waiting";
  if (restart !== null) return "none";
  return recovered === null ? "none" : "recovered";
}
