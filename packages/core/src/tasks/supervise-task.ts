import type { Machine } from "../machine.ts";
import { acceptClaim } from "./accept-claim.ts";
import { acceptOrder } from "./accept-order.ts";
import { acceptWord } from "./accept-word.ts";
import { agentCameBack, agentWentDown, noteCheckpoint } from "./follow-agent.ts";
import { forgiveBlindness } from "./forgive-blindness.ts";
import { andThen, tellSeveral, unchanged } from "./task-alert.ts";
import { nextLook } from "./task-deadlines.ts";
import { claimOf, type TaskRecord } from "./task-record.ts";
import {
  done,
  noted,
  refused,
  type TaskContext,
  type TaskReply,
  type TaskSignal,
  type TaskTurn,
} from "./task-signal.ts";
import { watchTaskClocks } from "./watch-task-clocks.ts";

/**
 * One turn for one task: take in what came, then look at its clocks. Pure, like `supervise`. What came is heard first, so that a word that waited
 * while we were late is not punished for it. `task.wakeAt` is the next moment that could change something by itself.
 */
export function superviseTask(before: TaskRecord, signal: TaskSignal, context: TaskContext): TaskTurn {
  const { now, doubt } = context;
  const accepted = acceptTaskSignal(forgiveBlindness(before, doubt), signal, context);
  if (accepted.reply?.kind === "refused") return { ...accepted, task: before };
  const watched = andThen(accepted, (next) => watchTaskClocks(next, context));
  const { task, events, actions } = andThen(watched, (next) => tellSeveral(before, next, doubt.othersBlocked, now));
  const wakeAt = nextLook(task, context);
  const reply = stillTrue(accepted.reply, task);
  return { task: wakeAt === task.wakeAt ? task : { ...task, wakeAt }, reply, events, actions };
}

/** A clock that was overdue may take the claim in the same turn: nobody is told that they hold what they do not. */
function stillTrue(reply: TaskReply | null, task: TaskRecord): TaskReply | null {
  if (reply?.kind !== "granted" || reply.claim === null || reply.claim === claimOf(task)?.number) return reply;
  return { kind: "refused", because: "claim-lost" };
}

function acceptTaskSignal(task: TaskRecord, signal: TaskSignal, context: TaskContext): TaskTurn {
  const { now } = context;
  switch (signal.kind) {
    case "created":
      return create(task);
    case "claim":
      return acceptClaim(task, signal, context);
    case "refresh":
    case "update":
    case "complete":
    case "fail":
    case "release":
      return acceptWord(task, signal, now);
    case "cancel":
    case "reassign":
    case "block":
    case "unblock":
      return acceptOrder(task, signal, now);
    case "agent-down":
      return noted(agentWentDown(task, signal, context));
    case "agent-recovered":
      return noted(agentCameBack(task, signal.agentId, signal.incarnation, now));
    case "checkpointed":
      return noted(noteCheckpoint(task, signal.checkpoint, signal.agentId, now));
    case "wake":
      return noted(unchanged(task));
  }
}

/** What waits to be claimed has no clock: only a task that never had its turn still asks to be looked at. */
function create(task: TaskRecord): TaskTurn {
  if (task.state.status !== "pending" || task.wakeAt === null) return refused(task, "exists");
  const payload = { agentId: null, taskId: task.taskId, priority: task.priority };
  return { ...done(unchanged(task)), events: [{ type: "TASK_CREATED", payload }] };
}

export const taskMachine: Machine<TaskRecord, TaskSignal, TaskContext, TaskReply | null> = {
  name: "task",
  step(before, signal, context) {
    const { task, reply, events, actions } = superviseTask(before, signal, context);
    return { record: task, reply, events, actions };
  },
  wakeAt: ({ wakeAt }) => wakeAt,
  restore: (saved) => JSON.parse(saved) as TaskRecord,
  serialise: JSON.stringify,
};
