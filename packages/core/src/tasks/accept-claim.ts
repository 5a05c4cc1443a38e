import type { MonoMs, TaskRefusal } from "@rouse/contract";
import { admitsClaim } from "../trust/judge-assignments.ts";
import { giveClaim } from "./change-task.ts";
import { refreshClaim } from "./note-work.ts";
import { unchanged } from "./task-alert.ts";
import { type Claim, claimOf, isAtWork, type TaskRecord } from "./task-record.ts";
import { type ClaimSignal, granted, refused, type TaskContext, type TaskRules, type TaskTurn } from "./task-signal.ts";

/** An agent wants to work on the task. A refusal changes nothing. */
export function acceptClaim(task: TaskRecord, signal: ClaimSignal, { now, rules }: TaskContext): TaskTurn {
  const held = claimOf(task);
  if (held !== null && held.agentId === signal.agentId) return claimAgain(task, held, signal, now);
  const because = refuseClaim(task, signal, rules);
  if (because !== null) return refused(task, because);
  return granted(giveClaim(task, signal, task.state.status === "recovering" ? "recovered" : "claimed", now));
}

/** Asking twice gives the same claim once. A later life gets one of its own, so that the earlier one cannot speak for it any more. */
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

/** Known to be later; a life nobody knows is neither later nor earlier. */
const isLater = (a: number | null, b: number | null): boolean => a !== null && b !== null && a > b;
