import type { MonoMs } from "@rouse/contract";
import { changeTask, goOn } from "./change-task.ts";
import { type Changed, unchanged } from "./task-alert.ts";
import { isAtWork, isTaskOver, type TaskRecord } from "./task-record.ts";
import { done, refused, type TaskOrderSignal, type TaskTurn } from "./task-signal.ts";

/** A person's word. Saying it twice is the same as saying it once; about what is over there is nothing left to say. */
export function acceptOrder(task: TaskRecord, order: TaskOrderSignal, now: MonoMs): TaskTurn {
  if (isTaskOver(task)) {
    const meant = order.kind === "cancel" && task.state.status === "cancelled";
    return meant ? done(unchanged(task)) : refused(task, "over");
  }
  switch (order.kind) {
    case "cancel":
      return done(cancel(task, order.actor, now));
    case "reassign":
      return done(reassign(task, order.to, order.actor, now));
    case "block":
      return done(block(task, order.actor, now));
    case "unblock":
      return done(unblock(task, order.actor, now));
  }
}

const cancel = (task: TaskRecord, actor: string, now: MonoMs): Changed =>
  changeTask(task, { to: { status: "cancelled", overAt: now }, because: "cancelled-by-person", actor }, now);

/** Whoever says who shall do it has looked at it: what was tried before does not count any more. */
function reassign(task: TaskRecord, to: string | null, actor: string, now: MonoMs): Changed {
  if (isWith(task, to)) return unchanged(task);
  const facts = { reservedFor: to, recoveries: 0 };
  return changeTask(task, { to: { status: "pending" }, because: "reassigned-by-person", actor, facts }, now);
}

function isWith({ state, reservedFor }: TaskRecord, agentId: string | null): boolean {
  if (state.status === "pending") return reservedFor === agentId;
  if (state.status === "recovering") return state.agentId === agentId;
  return isAtWork(state) && state.claim.agentId === agentId;
}

function block(task: TaskRecord, actor: string, now: MonoMs): Changed {
  const { state } = task;
  if (state.status === "blocked" && state.claim === null) return unchanged(task);
  const since = state.status === "blocked" ? state.since : now;
  return changeTask(task, { to: { status: "blocked", since, claim: null }, because: "marked-by-person", actor }, now);
}

function unblock(task: TaskRecord, actor: string, now: MonoMs): Changed {
  const { state } = task;
  if (state.status !== "blocked") return unchanged(task);
  const to = state.claim === null ? ({ status: "pending" } as const) : goOn(state.claim, state.since, now);
  const facts = { recoveries: 0, updatedAt: now };
  return changeTask(task, { to, because: "unblocked-by-person", actor, facts }, now);
}
