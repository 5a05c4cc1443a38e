import type { MonoMs } from "@rouse/contract";
import { type Doubt, lastGap } from "../doubt.ts";
import { type Claim, isAtWork, type TaskRecord } from "./task-record.ts";

type Blindness = Pick<Doubt, "gaps">;

/** Gaps of ours do not count against a task: each moves its start on, once. */
export function forgiveBlindness(task: TaskRecord, doubt: Blindness): TaskRecord {
  const { state } = task;
  if (isAtWork(state)) {
    const claim = startLater(state.claim, doubt);
    return claim === state.claim ? task : { ...task, state: { ...state, claim } };
  }
  if (state.status !== "blocked" || state.claim === null) return task;
  const claim = startLater(state.claim, doubt, state.since);
  return claim === state.claim ? task : { ...task, state: { ...state, claim } };
}

/** `until`: from when its time does not count anyway. */
export function startLater(claim: Claim, doubt: Blindness, until: MonoMs = Number.POSITIVE_INFINITY): Claim {
  let watchedFrom = claim.watchedFrom ?? claim.since;
  if ((lastGap(doubt)?.to ?? watchedFrom) <= watchedFrom) return claim;
  let { startedAt } = claim;
  for (const { from, to } of doubt.gaps) {
    if (to <= watchedFrom) continue;
    startedAt += Math.max(0, Math.min(to, until) - Math.max(from, watchedFrom));
    watchedFrom = to;
  }
  return { ...claim, startedAt, watchedFrom };
}
