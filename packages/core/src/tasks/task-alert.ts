import { type MonoMs, printable, type TaskReason } from "@rouse/contract";
import { type Told, tellRaised, tellResolved } from "../signal.ts";
import { agentOf, isCriticalBlocked, type TaskAlert, type TaskRecord } from "./task-record.ts";

/** The result of a change, whoever asked for it. */
export interface Changed extends Told {
  readonly task: TaskRecord;
}

interface WantedAlert extends Pick<TaskAlert, "cause" | "severity"> {
  /** Numbers, ids, fixed words and the owner; nothing that an agent wrote. */
  readonly summary: string;
}

export const unchanged = (task: TaskRecord): Changed => ({ task, events: [], actions: [] });

export function andThen(first: Changed, next: (task: TaskRecord) => Changed): Changed {
  const second = next(first.task);
  return {
    task: second.task,
    events: [...first.events, ...second.events],
    actions: [...first.actions, ...second.actions],
  };
}

/** One open alert per task: a new one replaces it. `about`: the agent, when the task has let go of it already. */
export function raiseAlert(before: TaskRecord, wanted: WantedAlert, now: MonoMs, about = agentOf(before)): Changed {
  return andThen(resolveAlert(before), (task) => {
    const alertsRaised = task.alertsRaised + 1;
    const key = `task/${task.taskId}/${wanted.cause}/${alertsRaised}`;
    const { cause, severity, summary } = wanted;
    return {
      task: { ...task, alertsRaised, alert: { key, cause, severity, agentId: about, raisedAt: now } },
      ...tellRaised(key, about, severity, summary),
    };
  });
}

export function resolveAlert(task: TaskRecord): Changed {
  if (task.alert === null) return unchanged(task);
  const { key, agentId } = task.alert;
  return { task: { ...task, alert: null }, ...tellResolved(key, agentId) };
}

/** The task and its owner. The owner's text may not be a name, so it is made printable. */
export const nameTask = ({ taskId, owner }: Pick<TaskRecord, "taskId" | "owner">): string =>
  owner === null || owner.trim() === "" ? `task ${taskId}` : `task ${taskId} (owner ${printable(owner.trim(), 200)})`;

/** One blocked critical task is its owner's matter; a second makes it everybody's, and that is told. */
export function tellSeveral(before: TaskRecord, task: TaskRecord, others: number, now: MonoMs): Changed {
  if (others === 0 || isCriticalBlocked(before) || !isCriticalBlocked(task)) return unchanged(task);
  const summary = `SEV-1: ${others + 1} critical tasks need a person, the last of them ${nameTask(task)}: ${task.because}`;
  const about = task.alert?.agentId ?? agentOf(before);
  return raiseAlert(task, { cause: "blocked", severity: "critical", summary }, now, about);
}

/** A person has to know that the task waits for them, unless they blocked it themselves. */
export function alertOfBlock(task: TaskRecord, because: TaskReason): WantedAlert | null {
  if (because === "marked-by-person") return null;
  const severity = because === "agent-blocked" ? "warning" : "critical";
  return { cause: "blocked", severity, summary: `${nameTask(task)} needs a person: ${because}` };
}
