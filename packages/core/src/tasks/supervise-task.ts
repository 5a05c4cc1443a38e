import type { MonoMs, TaskRefusal } from "@rouse/contract";
import type { Machine } from "../machine.ts";
import { admitsClaim } from "../trust/judge-assignments.ts";
import { changeTask, dropClaim, giveClaim, noteWork, refreshClaim, resumeClaim } from "./change-task.ts";
import { forgiveBlindness } from "./forgive-blindness.ts";
import { agentCameBack, agentWentDown, noteCheckpoint } from "./release-task.ts";
import { andThen, type Changed, tellSeveral, unchanged } from "./task-alert.ts";
import { type Claim, claimOf, isAtWork, isTaskOver, type TaskRecord } from "./task-record.ts";
import {
  type ClaimSignal,
  done,
  granted,
  noted,
  refused,
  type Speaker,
  type TaskContext,
  type TaskOrderSignal,
  type TaskReply,
  type TaskRules,
  type TaskSignal,
  type TaskTurn,
  type WorkerReport,
} from "./task-signal.ts";
import { nextLook, watchTaskClocks } from "./watch-task-clocks.ts";

/**
 * One turn for one task: accept the signal, then look at its clocks. Pure, like `supervise`. The signal goes first, so
 * that a message that waited while we were late still counts. `task.wakeAt` is the next moment that could change
 * something.
 */
export function superviseTask(before: TaskRecord, signal: TaskSignal, context: TaskContext): TaskTurn {
  const { now, doubt } = context;
  const heard = hearWork(forgiveBlindness(before, doubt), context);
  const accepted = acceptTaskSignal(heard.task, signal, context);
  if (accepted.reply?.kind === "refused") return { ...accepted, task: before };
  const told = { ...accepted, ...andThen(heard, () => accepted) };
  const watched = andThen(told, (next) => watchTaskClocks(next, context));
  const { task, events, actions } = andThen(watched, (next) => tellSeveral(before, next, doubt.othersBlocked, now));
  const wakeAt = nextLook(task, context);
  const reply = stillTrue(accepted.reply, task);
  return { task: wakeAt === task.wakeAt ? task : { ...task, wakeAt }, reply, events, actions };
}

/** What its agent achieved comes before whatever is said or due now: a stall is not told of one that works. */
function hearWork(task: TaskRecord, { workedAt = null }: TaskContext): Changed {
  return isAtWork(task.state) && workedAt !== null && workedAt > task.updatedAt
    ? noteWork(task, null, workedAt)
    : unchanged(task);
}

/** An overdue clock may take the claim in the same turn: then it is not granted. */
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
      return acceptReport(task, signal, now);
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

/** A pending task has no clock: only one that never had its first turn still has a `wakeAt`. */
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
  restore(saved) {
    const task = JSON.parse(saved) as TaskRecord;
    // An earlier version did not save when the status changed.
    return { ...task, changedAt: task.changedAt ?? task.updatedAt };
  },
  serialise: JSON.stringify,
};

/** An agent wants to work on the task. A refusal changes nothing. */
function acceptClaim(task: TaskRecord, signal: ClaimSignal, { now, rules }: TaskContext): TaskTurn {
  const held = claimOf(task);
  if (held !== null && held.agentId === signal.agentId) return claimAgain(task, held, signal, now);
  const because = refuseClaim(task, signal, rules);
  if (because !== null) return refused(task, because);
  return granted(giveClaim(task, signal, task.state.status === "recovering" ? "recovered" : "claimed", now));
}

/** Claiming twice gives the same claim. A later life gets a new one, so that the earlier life cannot speak for it. */
function claimAgain(task: TaskRecord, held: Claim, signal: ClaimSignal, now: MonoMs): TaskTurn {
  if (isLater(held.incarnation, signal.incarnation)) return refused(task, "taken");
  if (!isLater(signal.incarnation, held.incarnation)) return granted(unchanged(refreshClaim(task, now)));
  return isAtWork(task.state) ? granted(giveClaim(task, signal, "claimed", now)) : refused(task, "blocked");
}

function refuseClaim(task: TaskRecord, signal: ClaimSignal, { mode }: TaskRules): TaskRefusal | null {
  const { state } = task;
  switch (state.status) {
    case "pending":
      if (task.reservedFor !== null && task.reservedFor !== signal.agentId) return "taken";
      if (!signal.ready) return "not-ready";
      return mode === "observe" ? null : admitsClaim(signal, signal.heldClaims);
    case "claimed":
    case "running":
      return "taken";
    case "recovering": {
      const back = state.agentId === signal.agentId && isLater(signal.incarnation, state.incarnation);
      return back ? null : "being-recovered";
    }
    case "blocked":
      return task.because === "recoveries-exhausted" ? "recoveries-exhausted" : "blocked";
    case "completed":
    case "failed":
    case "cancelled":
      return "over";
  }
}

/** Known to be later; an unknown life is neither later nor earlier. */
const isLater = (a: number | null, b: number | null): boolean => a !== null && b !== null && a > b;

/** A worker's report about its task. Only the present claim may speak for it. */
function acceptReport(task: TaskRecord, report: WorkerReport, now: MonoMs): TaskTurn {
  if (saidBefore(task, report)) return granted(unchanged(task));
  const claim = claimOf(task);
  const because = refuseReport(task, claim, report);
  if (because !== null || claim === null) return refused(task, because ?? "not-yours");
  switch (report.kind) {
    case "refresh":
      return granted(unchanged(refreshClaim(task, now)));
    case "update":
      return granted(update(task, claim, report, now));
    case "complete":
      return granted(end(task, claim, "completed", now));
    case "fail":
      return granted(end(task, claim, "failed", now));
    case "release":
      return granted(release(task, claim, now));
  }
}

function refuseReport(task: TaskRecord, claim: Claim | null, report: Speaker): TaskRefusal | null {
  const present = isTaskOver(task) ? task.claims : claim?.number;
  if (report.claim !== undefined && report.claim !== present) return "claim-lost";
  if (isTaskOver(task)) return "over";
  return claim?.agentId === report.agentId ? null : "not-yours";
}

/** The answer to "complete" may get lost, so it may be repeated. */
function saidBefore({ state }: TaskRecord, report: WorkerReport): boolean {
  if (state.status !== "completed" && state.status !== "failed") return false;
  const { agentId, number } = state.by;
  const same = report.agentId === agentId && (report.claim === undefined || report.claim === number);
  return same && report.kind === (state.status === "completed" ? "complete" : "fail");
}

function update(
  before: TaskRecord,
  claim: Claim,
  report: Extract<WorkerReport, { kind: "update" }>,
  now: MonoMs,
): Changed {
  const { agentId: actor } = claim;
  const { state } = before;
  const note = report.note ?? before.note;
  const facts = { note, updatedAt: now };
  if (report.status === "blocked" && isAtWork(state)) {
    const to = { status: "blocked", since: now, claim: { ...claim, refreshedAt: now } } as const;
    return changeTask(before, { to, because: "agent-blocked", actor, facts }, now);
  }
  if (report.status === "running" && state.status === "blocked") {
    return changeTask(before, { to: resumeClaim(claim, state.since, now), because: "updated", actor, facts }, now);
  }
  return noteWork(before, note, now);
}

function end(task: TaskRecord, by: Claim, status: "completed" | "failed", now: MonoMs): Changed {
  const because = status === "completed" ? "done" : "agent-failed-it";
  return changeTask(
    task,
    { to: { status, by, overAt: now }, because, actor: by.agentId, facts: { updatedAt: now } },
    now,
  );
}

/** A blocked task stays blocked. */
function release(task: TaskRecord, claim: Claim, now: MonoMs): Changed {
  const because = "released-by-agent";
  if (task.state.status === "blocked") return dropClaim(task, because);
  return changeTask(task, { to: { status: "pending" }, because, actor: claim.agentId }, now);
}

/** A person's order. Repeating it changes nothing, and a task that is over takes no order. */
function acceptOrder(task: TaskRecord, order: TaskOrderSignal, now: MonoMs): TaskTurn {
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

/** A person who reassigns a task has looked at it: earlier recoveries do not count. */
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
  const to = state.claim === null ? ({ status: "pending" } as const) : resumeClaim(state.claim, state.since, now);
  const facts = { recoveries: 0, updatedAt: now };
  return changeTask(task, { to, because: "unblocked-by-person", actor, facts }, now);
}
