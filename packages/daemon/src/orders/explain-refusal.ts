import { Fault, type TaskRefusal } from "@rouse/contract";
import { agentOf, claimOf, type TaskRecord } from "@rouse/core";

/** What was asked for, as far as the answer has to speak of it. */
export interface Asked {
  readonly task: TaskRecord;
  /** Who asked, or whom a person meant; `null` when they meant nobody. */
  readonly agentId: string | null;
  /** What of that which it depends on is not completed. */
  readonly waitsFor: readonly string[];
}

/** One sentence for whoever was refused: what is, and what they can do about it. */
export function explainRefusal(because: TaskRefusal, asked: Asked): Fault {
  return new Fault("task-refused", `${sentenceFor(because, asked)} (${because})`);
}

function sentenceFor(because: TaskRefusal, { task, agentId, waitsFor }: Asked): string {
  const { taskId } = task;
  const who = agentId ?? "that agent";
  switch (because) {
    case "exists":
      return `task ${taskId} is there already, ${task.state.status}`;
    case "taken":
      return `task ${taskId} is ${describeHolder(task)}`;
    case "not-yours":
      return `${who} does not hold task ${taskId}: it is ${describeHolder(task)}`;
    case "claim-lost":
      return `the claim on task ${taskId} that was named is over: it is ${describeHolder(task)}`;
    case "over":
      return `task ${taskId} is ${task.state.status}; nothing more can be done with it`;
    case "not-ready":
      return `task ${taskId} waits for ${listed(waitsFor)}`;
    case "blocked":
      return `task ${taskId} needs a person; \`rouse tasks unblock ${taskId}\` frees it`;
    case "being-recovered":
      return `${agentOf(task) ?? "its agent"} is being brought back with task ${taskId}; it is kept for it`;
    case "few-assignments":
      return `too many of ${who}'s last tasks failed: it gets one at a time, and has one`;
    case "disabled":
      return `too many of ${who}'s last tasks failed: it gets none until \`rouse tasks trust ${who}\``;
    case "quarantined":
      return `${who} is quarantined: it gets no new tasks`;
    case "agent-over":
      return `${who} is not there any more: it gets no tasks before it is started again`;
    case "recoveries-exhausted":
      return `agents went down too often with task ${taskId}; \`rouse tasks unblock ${taskId}\` lets it be tried again`;
  }
}

function describeHolder(task: TaskRecord): string {
  const claim = claimOf(task);
  if (claim !== null) return `${claim.agentId}'s by claim ${claim.number}`;
  if (task.state.status === "pending" && task.reservedFor !== null) return `meant for ${task.reservedFor}`;
  return task.state.status === "pending" ? "nobody's, and can be claimed" : task.state.status;
}

const mostNamed = 5;

function listed(ids: readonly string[]): string {
  const more = ids.length - mostNamed;
  return ids.slice(0, mostNamed).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
