import type { MonoMs, TaskRefusal } from "@rouse/contract";
import { changeTask, dropClaim, goOn } from "./change-task.ts";
import { noteWork, refreshClaim } from "./note-work.ts";
import { type Changed, unchanged } from "./task-alert.ts";
import { type Claim, claimOf, isAtWork, isTaskOver, type TaskRecord } from "./task-record.ts";
import { granted, refused, type Speaker, type TaskTurn, type WordSignal } from "./task-signal.ts";

/** What an agent says of the task it holds. Only the present claim may speak for it. */
export function acceptWord(task: TaskRecord, word: WordSignal, now: MonoMs): TaskTurn {
  if (saidBefore(task, word)) return granted(unchanged(task));
  const claim = claimOf(task);
  const because = refuseWord(task, claim, word);
  if (because !== null || claim === null) return refused(task, because ?? "not-yours");
  switch (word.kind) {
    case "refresh":
      return granted(unchanged(refreshClaim(task, now)));
    case "update":
      return granted(update(task, claim, word, now));
    case "complete":
      return granted(end(task, claim, "completed", now));
    case "fail":
      return granted(end(task, claim, "failed", now));
    case "release":
      return granted(release(task, claim, now));
  }
}

function refuseWord(task: TaskRecord, claim: Claim | null, word: Speaker): TaskRefusal | null {
  const present = isTaskOver(task) ? task.claims : claim?.number;
  if (word.claim !== undefined && word.claim !== present) return "claim-lost";
  if (isTaskOver(task)) return "over";
  return claim?.agentId === word.agentId ? null : "not-yours";
}

/** The answer to "it is done" may get lost on the way: saying it again is fine. */
function saidBefore({ state }: TaskRecord, word: WordSignal): boolean {
  if (state.status !== "completed" && state.status !== "failed") return false;
  const { agentId, number } = state.by;
  const same = word.agentId === agentId && (word.claim === undefined || word.claim === number);
  return same && word.kind === (state.status === "completed" ? "complete" : "fail");
}

function update(before: TaskRecord, claim: Claim, word: Extract<WordSignal, { kind: "update" }>, now: MonoMs): Changed {
  const { agentId: actor } = claim;
  const { state } = before;
  const note = word.note ?? before.note;
  const facts = { note, updatedAt: now };
  if (word.status === "blocked" && isAtWork(state)) {
    const to = { status: "blocked", since: now, claim: { ...claim, refreshedAt: now } } as const;
    return changeTask(before, { to, because: "agent-blocked", actor, facts }, now);
  }
  if (word.status === "running" && state.status === "blocked") {
    return changeTask(before, { to: goOn(claim, state.since, now), because: "updated", actor, facts }, now);
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

/** What waits for a person goes on waiting for them. */
function release(task: TaskRecord, claim: Claim, now: MonoMs): Changed {
  const because = "released-by-agent";
  if (task.state.status === "blocked") return dropClaim(task, because);
  return changeTask(task, { to: { status: "pending" }, because, actor: claim.agentId }, now);
}
