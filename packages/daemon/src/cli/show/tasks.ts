import { type EpochMs, type TaskPage, TaskPriority, type TaskReport, type TaskStatus } from "@rouse/contract";
import { drawFacts, drawList, type Fact, type ListColumn, none } from "../text/draw-table.ts";
import { inWords } from "../text/phrases.ts";
import { type Line, type Span, type Style, styled, wrapLine } from "../text/styled-text.ts";
import { ago, describeSeconds, inTime, stampAndAge } from "../text/tell-time.ts";

/** `rouse tasks`: tasks that need somebody, then those under way, then those that wait. `over` counts the unlisted. */
export function showTasks(
  { tasks, total }: Pick<TaskPage, "tasks" | "total">,
  over: number,
  now: EpochMs,
  width: number,
  isNarrowed = false,
): Line[] {
  const columns: ListColumn<TaskReport>[] = [
    ["TASK", ({ taskId }) => taskId, { least: 10 }],
    ["STATUS", styledStatus],
    ["PRIORITY", ({ priority }) => (priority === "critical" ? styled("red", priority) : priority)],
    ["AGENT", describeAgent, { least: 8 }],
    ["UPDATED", ({ updatedAt }) => ago(updatedAt, now)],
    ["TITLE", ({ title }) => title || none, { least: 10 }],
  ];
  const sorted = tasks.toSorted((a, b) => rank(a) - rank(b) || urgency(b) - urgency(a));
  const more = [
    ...(total > tasks.length ? [`These are ${tasks.length} of ${total}.`] : []),
    ...(over === 1 ? ["1 more task is over; --all shows it."] : []),
    ...(over > 1 ? [`${over} more tasks are over; --all shows them.`] : []),
  ];
  const empty = isNarrowed ? "No such tasks." : "No tasks here. `rouse tasks add` makes one.";
  const table = tasks.length === 0 ? [[empty]] : drawList(sorted, columns, width);
  return [...table, ...(more.length === 0 ? [] : [[], [styled("dim", more.join(" "))]])];
}

/** Flags of a task, the worst first; the worst one stands beside its status. */
const worstFirst = ["timed-out", "escalated", "stalled", "unclaimed", "long-running"] as const;

const worstOf = ({ flags }: TaskReport): TaskReport["flags"][number] | null =>
  worstFirst.find((flag) => flags.includes(flag)) ?? null;

const statusStyles: Readonly<Record<TaskStatus, Style | null>> = {
  pending: null,
  claimed: "cyan",
  running: "green",
  recovering: "yellow",
  blocked: "red",
  completed: "dim",
  failed: "red",
  cancelled: "dim",
};

function styledStatus(task: TaskReport): string | Span {
  const worst = worstOf(task);
  const text = worst === null || worst === task.because ? task.status : `${task.status}, ${worst}`;
  if (worst === "escalated" || worst === "timed-out") return styled("red", text);
  if (worst === "stalled" || worst === "unclaimed") return styled("yellow", text);
  const style = statusStyles[task.status];
  return style === null ? text : styled(style, text);
}

function describeAgent({ claim, reservedFor }: TaskReport): string | Span {
  if (claim !== null) return claim.agentId;
  return reservedFor === null ? none : styled("dim", `for ${reservedFor}`);
}

const urgency = ({ priority }: TaskReport): number => TaskPriority.options.indexOf(priority);

function rank(task: TaskReport): number {
  switch (task.status) {
    case "blocked":
      return 0;
    case "claimed":
    case "running":
    case "recovering":
      return worstOf(task) === null ? 2 : 1;
    case "pending":
      return 3;
    case "completed":
    case "failed":
    case "cancelled":
      return 4;
  }
}

/** One sentence about the present state of a task. */
export function describeTask(task: TaskReport): Line {
  const { taskId, status, claim, reservedFor, endedBy } = task;
  const whose = claim === null ? "" : `, by ${claim.agentId} with claim ${claim.number}`;
  const by = endedBy === null ? "" : ` by ${endedBy}`;
  const meant = reservedFor === null ? "" : `, meant for ${reservedFor}`;
  const waits = status === "pending" && task.waitsFor.length > 0 ? `, waiting for ${nameOthers(task)}` : "";
  return [styled("bold", taskId), ` is ${status}${by}${whose}${meant}${waits}.`];
}

/** Names the tasks that a task waits for. For one that nobody has made it would wait without end, so that is said. */
const nameOthers = ({ waitsFor }: TaskReport): string =>
  waitsFor.map(({ taskId, status }) => `${taskId} (${status ?? "nobody has made it yet"})`).join(", ");

/** `rouse tasks show`: all that is known of one. */
export function showTask(task: TaskReport, now: EpochMs, width: number): Line[] {
  const title = task.title === "" ? [] : wrapLine([task.title], width, 0);
  return [...wrapLine(describeTask(task), width, 0), ...title, [], ...drawFacts(factsOf(task, now), width)];
}

function factsOf(task: TaskReport, now: EpochMs): (Fact | null)[] {
  const { claim, flags, timeoutAt, startedAt, lastCheckpoint } = task;
  return [
    ["because", [inWords(task.because)]],
    flags.length === 0 ? null : ["flags", [flags.join(", ")]],
    ["priority", [task.priority]],
    task.owner === null ? null : ["owner", [task.owner]],
    claim && ["claimed", [stampAndAge(claim.since, now)]],
    claim && ["refreshed", [stampAndAge(claim.refreshedAt, now)]],
    task.note === null ? null : ["note", [task.note]],
    task.dependsOn.length === 0 ? null : ["depends on", [task.dependsOn.join(", ")]],
    task.dependents.length === 0 ? null : ["waited for by", [task.dependents.join(", ")]],
    ["created", [stampAndAge(task.createdAt, now)]],
    startedAt === null ? null : ["started", [stampAndAge(startedAt, now)]],
    ["updated", [stampAndAge(task.updatedAt, now)]],
    timeoutAt === null && task.timeoutMinutes === null
      ? null
      : ["timeout", [`${describeTimeout(task, now)}, then ${then[task.onTimeout]}`]],
    task.recoveries === 0 ? null : ["recoveries", [String(task.recoveries)]],
    lastCheckpoint === null ? null : ["checkpoint", [lastCheckpoint]],
  ];
}

const describeTimeout = ({ timeoutAt, timeoutMinutes }: TaskReport, now: EpochMs): string =>
  timeoutAt === null ? `${describeSeconds((timeoutMinutes ?? 0) * 60)} from the claim` : inTime(timeoutAt, now);

const then: Readonly<Record<TaskReport["onTimeout"], string>> = {
  reassign: "it is given back",
  cancel: "it is cancelled",
  person: "it waits for a person",
};
