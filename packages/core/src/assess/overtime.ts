import { describeDuration, type MonoMs } from "@rouse/contract";
import type { AgentRecord } from "../record.ts";
import { conclude, type Detector, nothing, wholeSeconds } from "./look.ts";
import { newestFact } from "./moved-since.ts";

/**
 * Its task ran over the timeout and was taken from it, it was told to stop, and works on. Only an agent that can be stopped, that names no other task and
 * was given none; only work that was seen after the time a nudge is given. Who rests, waits or stands still is left to the other detectors.
 */
export const findOvertime: Detector = (record, { now, policy }) => {
  const { overtime, id: taskId } = record.task;
  const { terminal } = record.seen;
  const { activity } = record.work;
  if (overtime === null || overtime.taskId !== taskId || terminal === null || policy.tasks.afterTimeout === "none")
    return nothing;
  if ((activity.kind !== "RUNNING" && activity.kind !== "STARTING") || terminal.turnEndedAt !== null) return nothing;
  const due = toldToStopAt(record, overtime.since) + policy.nudge.interval;
  // What it does next wakes us: nothing is held against it for time alone.
  if (newestFact(record) < due) return nothing;
  const over = now - overtime.since;
  return {
    finding: conclude(record, now, {
      kind: "task-timed-out",
      level: "stuck",
      confidence: 0.9,
      class: "overdue",
      text: `it works on although its task timed out ${describeDuration(over)} ago and is no longer its own`,
      evidence: { sinceSeconds: wholeSeconds(over), told: isToldToStop(record) ? "yes" : "no" },
    }),
    lookAgainAt: null,
  };
};

/** The time in which nobody could see what came of it is not held against it. */
const toldToStopAt = ({ ladder: { nudge } }: AgentRecord, since: MonoMs): MonoMs =>
  nudge?.template === "task-taken" && nudge.sent !== null ? Math.max(since, nudge.sent.at) + nudge.unseen : since;

/** The agent itself has shown that it read that its task is no longer its own, and has not answered. A beat that was lost since may have held its answer. */
export function isToldToStop({ beats, ladder: { nudge, answers } }: AgentRecord): boolean {
  if (nudge?.template !== "task-taken" || nudge.sent === null || !nudge.receipt) return false;
  return answers?.since !== nudge.id && beats.lost <= nudge.sent.lost;
}

/** What it was told to stop, it goes on with: the nudge is unanswered however much it does. That it had its time to answer is part of the finding. */
export const ignoresStop = (record: AgentRecord): boolean =>
  isToldToStop(record) && record.health.findings.some(({ kind }) => kind === "task-timed-out");
