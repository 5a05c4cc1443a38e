import type { RouseEvent, TaskPolicy } from "@rouse/contract";
import { isAtWork, type TaskTruth } from "./task-truth.ts";

const second = 1000;
const minute = 60 * second;

interface Stretch {
  readonly from: number;
  readonly to: number;
}

interface Parts {
  readonly now: () => number;
  readonly violated: (text: string) => void;
  readonly policy: Pick<TaskPolicy, "stalled" | "recheck" | "longRunning">;
  readonly tasks: ReadonlyMap<string, TaskTruth>;
  /** When the monitor was not running, stood still, or could not save; oldest first. */
  readonly blind: readonly Stretch[];
  /** Everything that went wrong with the monitor, its clock included. */
  readonly faults: readonly Stretch[];
  /** When an agent last sent a beat that may count as progress. */
  readonly progressAt: (agentId: string) => number;
}

/** What is known of the work on one claim. */
interface Watch {
  readonly claim: number;
  /** Work that was counted before the task waited for a person. */
  workedBefore: number;
  /** Since when its time counts; `null` while it waits for a person. */
  runsSince: number | null;
  /** The last fact of work that was certainly heard, and the last that may have been. */
  workedAt: number;
  mayHaveWorkedAt: number;
  stalledAt: number | null;
  escalated: boolean;
  longRunning: boolean;
  timedOutAt: number | null;
  /** Something that was due was not told, and the judge has said so. */
  isForgotten: boolean;
}

/** A turn of the monitor, and how exactly it knows when it was blind: this much for each stretch. */
const blur = 20 * second;
const blurOfStretch = 6 * second;
/** By then whatever is due has been told. */
const late = minute;

/** Reckons the clocks of every claim anew: stalled, escalated, long-running and timed out are told when they are due, and not before. */
export function judgeTaskClocks({ now, violated, policy, tasks, blind, faults, progressAt }: Parts) {
  const watches = new Map<string, Watch>();
  const told = { stalled: 0, escalated: 0, longRunning: 0, timedOut: 0 };
  let frozen = false;
  let thawedAt = Number.NEGATIVE_INFINITY;

  const overlap = ({ from, to }: Stretch, since: number): number =>
    Math.max(0, Math.min(now(), to) - Math.max(since, from));

  /** How long a claim was worked on, without the time in which nobody could have heard of it. */
  function worked({ workedBefore, runsSince }: Watch): number {
    if (runsSince === null) return workedBefore;
    return workedBefore + now() - runsSince - blind.reduce((sum, stretch) => sum + overlap(stretch, runsSince), 0);
  }

  /** How far two honest reckonings of that may be apart. */
  const blurSince = (since: number): number => blur + blurOfStretch * blind.filter(({ to }) => to > since).length;

  const lastEnd = (stretches: readonly Stretch[]): number =>
    stretches.reduce((last, { to }) => (to <= now() ? Math.max(last, to) : last), Number.NEGATIVE_INFINITY);

  /** From when the silence counts that was told now: what was due before the monitor went blind may be saved after it. */
  function quietSince(workedAt: number): number {
    let since = workedAt;
    for (const { from, to } of blind) {
      if (to > now() || from >= since + policy.stalled - blur) break;
      since = Math.max(since, to);
    }
    return since;
  }

  const isBlind = (): boolean => faults.some(({ from, to }) => from <= now() && now() < to);

  function claimed(taskId: string, claim: number): void {
    const at = now();
    const nothing = { stalledAt: null, escalated: false, longRunning: false, timedOutAt: null, isForgotten: false };
    watches.set(taskId, { claim, workedBefore: 0, runsSince: at, workedAt: at, mayHaveWorkedAt: at, ...nothing });
  }

  function noteWork(taskId: string, isCertain: boolean): void {
    const watch = watches.get(taskId);
    if (watch === undefined) return;
    watch.mayHaveWorkedAt = now();
    if (!isCertain) return;
    watch.workedAt = now();
    watch.stalledAt = null;
    watch.escalated = false;
  }

  function changed(before: TaskTruth, after: TaskTruth): void {
    const watch = watches.get(after.taskId);
    if (after.claim === null) watches.delete(after.taskId);
    else if (watch?.claim !== after.claim.number) claimed(after.taskId, after.claim.number);
    else if (after.status === "blocked") {
      watch.workedBefore = worked(watch);
      watch.runsSince = null;
    } else if (before.status === "blocked") {
      watch.runsSince = now();
      watch.timedOutAt = null;
      noteWork(after.taskId, true);
    } else if (before.status === "claimed" && after.status === "running") noteWork(after.taskId, true);
    if (after.because === "timed-out") noteTaken(before, after);
  }

  function noteTaken({ taskId, onTimeout }: TaskTruth, { status }: TaskTruth): void {
    const wanted = { reassign: "pending", cancel: "cancelled", person: "blocked" }[onTimeout];
    if (status !== wanted) violated(`${taskId} timed out and is ${status}, where ${onTimeout} was wanted`);
    if (frozen) violated(`${taskId} was taken away for its timeout in a freeze`);
  }

  function tellStalled(taskId: string, watch: Watch): void {
    told.stalled += 1;
    const since = quietSince(watch.workedAt);
    if (now() - since < policy.stalled - blur)
      violated(`${taskId} is told to stand still ${minutes(now() - since)} after work on it`);
    if (watch.stalledAt !== null && watch.mayHaveWorkedAt < watch.stalledAt && progressOf(taskId) < watch.stalledAt)
      violated(`${taskId} is told to stand still for the second time, without any work between`);
    watch.stalledAt = now();
    watch.escalated = false;
  }

  function tellEscalated(taskId: string, watch: Watch): void {
    told.escalated += 1;
    if (watch.stalledAt === null || watch.escalated) violated(`${taskId} is escalated, and does not newly stand still`);
    else if (now() - watch.stalledAt < policy.recheck - blur)
      violated(`${taskId} is escalated ${minutes(now() - watch.stalledAt)} after it was told to stand still`);
    watch.escalated = true;
  }

  function tellLongRunning(taskId: string, watch: Watch): void {
    told.longRunning += 1;
    if (watch.longRunning) violated(`${taskId} is told to be long-running for the second time`);
    tooEarly(taskId, watch, policy.longRunning, "long-running");
    watch.longRunning = true;
  }

  function tellTimedOut(taskId: string, watch: Watch): void {
    told.timedOut += 1;
    const timeout = tasks.get(taskId)?.timeout ?? null;
    if (timeout === null) violated(`${taskId} timed out, and has no timeout`);
    else tooEarly(taskId, watch, timeout, "over its timeout");
    if (watch.timedOutAt !== null) violated(`${taskId} is told to be over its timeout for the second time`);
    watch.timedOutAt = now();
  }

  function tooEarly(taskId: string, watch: Watch, due: number, what: string): void {
    const by = due - worked(watch);
    if (by > blurSince(watch.runsSince ?? 0))
      violated(`${taskId} is told to be ${what} ${minutes(by)} too early: ${minutes(worked(watch))} of work count`);
  }

  function progressOf(taskId: string): number {
    const agentId = tasks.get(taskId)?.claim?.agentId;
    return agentId === undefined ? Number.NEGATIVE_INFINITY : progressAt(agentId);
  }

  function lookAt(task: TaskTruth, watch: Watch): void {
    const { taskId, timeout } = task;
    const seen = now() - lastEnd(faults);
    const net = worked(watch) - late - blurSince(watch.runsSince ?? 0);
    const quiet = now() - Math.max(watch.mayHaveWorkedAt, progressOf(taskId));
    if (timeout !== null && net > timeout && seen > policy.recheck + late && watch.timedOutAt === null)
      forgotten(
        watch,
        `${taskId} has been worked on for ${minutes(worked(watch))}, and its timeout of ${minutes(timeout)} was not told`,
      );
    // In a freeze it stays where it is, and after a gap for as long as a stall is looked at anew.
    const free = frozen ? 0 : now() - Math.max(watch.timedOutAt ?? now(), thawedAt);
    if (watch.timedOutAt !== null && Math.min(free, seen - policy.recheck) > late)
      forgotten(
        watch,
        `${taskId} timed out ${minutes(now() - watch.timedOutAt)} ago and is still ${task.claim?.agentId}'s`,
      );
    if (net > policy.longRunning && seen > late && !watch.longRunning)
      forgotten(
        watch,
        `${taskId} has been worked on for ${minutes(worked(watch))}, and nobody was told that it is long-running`,
      );
    if (watch.timedOutAt !== null) return;
    if (watch.stalledAt === null && Math.min(quiet, seen) > policy.stalled + late)
      forgotten(watch, `${taskId} had no work for ${minutes(quiet)}, and nobody was told`);
    // Whether work was heard since it was told may be unknown: then nobody can say what is due.
    const isStalled = watch.stalledAt !== null && now() - quiet < watch.stalledAt;
    const again = isStalled ? Math.min(now() - (watch.stalledAt ?? 0), seen) : 0;
    if (again > policy.recheck + late && !watch.escalated)
      forgotten(
        watch,
        `${taskId} still has no work ${minutes(again)} after it was told to stand still, and is not escalated`,
      );
  }

  /** Once for each claim. */
  function forgotten(watch: Watch, text: string): void {
    if (!watch.isForgotten) violated(text);
    watch.isForgotten = true;
  }

  const tellers = {
    TASK_STALLED: tellStalled,
    TASK_ESCALATED: tellEscalated,
    TASK_LONG_RUNNING: tellLongRunning,
    TASK_TIMED_OUT: tellTimedOut,
  };

  return {
    changed,
    noteWork,
    note({ type, payload }: RouseEvent): void {
      if (type === "MONITOR_FROZEN") frozen = true;
      if (type === "MONITOR_THAWED") {
        frozen = false;
        thawedAt = now();
      }
      if (!(type in tellers) || !("taskId" in payload)) return;
      const { taskId } = payload as { taskId: string };
      const watch = watches.get(taskId);
      if (watch === undefined) return violated(`${type} of ${taskId}, on which nobody works`);
      tellers[type as keyof typeof tellers](taskId, watch);
    },
    lookForTheForgotten(): void {
      if (isBlind()) return;
      for (const [taskId, watch] of watches) {
        const task = tasks.get(taskId);
        if (task !== undefined && isAtWork(task)) lookAt(task, watch);
      }
    },
    told: () => ({ ...told }),
  };
}

const minutes = (ms: number): string => `${(ms / minute).toFixed(1)} min`;
