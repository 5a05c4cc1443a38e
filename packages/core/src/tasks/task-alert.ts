import type { AlertSeverity, MonoMs, RouseEvent, TaskReason } from "@rouse/contract";
import type { Action } from "../signal.ts";
import { agentOf, type TaskAlertCause, type TaskRecord } from "./task-record.ts";

/** What a change comes to, whoever asked for it. */
export interface Changed {
  readonly task: TaskRecord;
  readonly events: readonly RouseEvent[];
  readonly actions: readonly Action[];
}

export interface WantedAlert {
  readonly cause: TaskAlertCause;
  readonly severity: AlertSeverity;
  /** Numbers, ids and fixed words; nothing an agent wrote. */
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

/** One open alert per task: a new one takes the place of the one before. `about`: the agent, when the task has let go of it already. */
export function raiseAlert(before: TaskRecord, wanted: WantedAlert, now: MonoMs, about = agentOf(before)): Changed {
  return andThen(resolveAlert(before), (task) => {
    const alertsRaised = task.alertsRaised + 1;
    const key = `task/${task.taskId}/${wanted.cause}/${alertsRaised}`;
    const { cause, severity, summary } = wanted;
    return {
      task: { ...task, alertsRaised, alert: { key, cause, severity, agentId: about, raisedAt: now } },
      events: [{ type: "ALERT_RAISED", payload: { agentId: about, alert: key, severity, summary } }],
      actions: [{ kind: "raise-alert", key, agentId: about, severity, summary }],
    };
  });
}

export function resolveAlert(task: TaskRecord): Changed {
  if (task.alert === null) return unchanged(task);
  const { key, agentId } = task.alert;
  return {
    task: { ...task, alert: null },
    events: [{ type: "ALERT_RESOLVED", payload: { agentId, alert: key } }],
    actions: [{ kind: "resolve-alert", key: `${key}/resolved`, agentId }],
  };
}

/** Somebody has to know that it waits for them, unless it was them who said so. */
export function alertOfBlock({ taskId }: TaskRecord, because: TaskReason): WantedAlert | null {
  if (because === "marked-by-person") return null;
  const severity = because === "agent-blocked" ? "warning" : "critical";
  return { cause: "blocked", severity, summary: `task ${taskId} needs a person: ${because}` };
}
