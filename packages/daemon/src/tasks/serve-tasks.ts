import {
  AgentId,
  type AssignmentsReport,
  ClaimRequest,
  describeIssues,
  Fault,
  type MonoMs,
  type NextTask,
  type TaskHealth,
  TaskOrder,
  type TaskPage,
  TaskRefresh,
  type TaskReport,
  TaskRequest,
  TaskUpdate,
  TaskWord,
} from "@rouse/contract";
import {
  agentOf,
  newTask,
  type TaskOrderSignal,
  type TaskRecord,
  type TaskReply,
  type WorkerReport,
} from "@rouse/core";
import type { z } from "zod";
import type { Keep } from "../engine/answer-once.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { type Given, type GivenOrder, givenBy, orderLine, refusalLine } from "../orders/note-orders.ts";
import type { TaskDesk } from "../ports/task-source.ts";
import type { SharedServices } from "../shared-services.ts";
import { describeTask, describeTaskHealth, explainRefusal, type TaskView } from "./describe-task.ts";
import type { Tasks } from "./host-tasks.ts";
import { listTasks, pageOfTasks, type TaskFilter } from "./list-tasks.ts";
import { describeCircle, findCircle } from "./relate-tasks.ts";

interface ServingParts
  extends Pick<SharedServices, "engine" | "roster" | "commits" | "doubt" | "readClock" | "toWall"> {
  readonly tasks: Tasks;
}

/** The incarnation of the agent that speaks, where its token says so. */
type Life = number | null;

/** Who authenticated; `null` for a caller inside the daemon, whose own name counts. */
type Principal = string | null;

/** The tasks for callers outside: parses a request and answers once it is saved. A refusal is a `Fault`. */
export function serveTasks({ engine, tasks, roster, commits, doubt, readClock, toWall }: ServingParts) {
  const { addToTrail } = engine;

  const viewAt = (now: MonoMs): TaskView => ({
    now,
    toWall,
    doubt: { gaps: doubt.gaps(), frozen: doubt.frozen() !== null },
    rulesFor: tasks.rulesFor,
    statusSince: tasks.statusSince,
    isCompleted: tasks.isCompleted,
    statusOf: (taskId) => tasks.find(taskId)?.state.status ?? null,
    dependentsOf: tasks.dependentsOf,
  });

  const { mustFind } = tasks;

  /** The report is made before the commit: another request may change the task while this one is being saved. */
  async function answer(
    taskId: string,
    reply: TaskReply,
    agentId: string | null,
    { now }: Moment,
    keep?: Pick<Keep, "answer">,
  ): Promise<TaskReport> {
    const task = mustFind(taskId);
    if (reply.kind === "refused") {
      // A clock of the task may have been due in the same turn.
      commits.schedule();
      const waitsFor = task.dependsOn.filter((id) => !tasks.isCompleted(id));
      throw explainRefusal(reply.because, { task, agentId, waitsFor });
    }
    const report = describeTask(task, viewAt(now));
    keep?.answer(report);
    await commits.saved();
    return report;
  }

  function takeReport(kind: WorkerReport["kind"], taskId: string, sent: TaskUpdate, life: Life): Promise<TaskReport> {
    const moment = engine.begin();
    const { agentId, claim, note, status } = sent;
    roster.refuseFormerLife(agentId, life);
    // The note of a last report is kept where it comes in time; it does not decide whether the report is accepted.
    if (kind !== "update" && note !== undefined)
      tasks.takeReport(taskId, { kind: "update", agentId, claim, note }, moment);
    const signal: WorkerReport = kind === "update" ? { kind, agentId, claim, note, status } : { kind, agentId, claim };
    return answer(taskId, tasks.takeReport(taskId, signal, moment), agentId, moment);
  }

  const takesReport =
    (kind: WorkerReport["kind"], schema: z.ZodType<TaskUpdate>, whole: string) =>
    async (taskId: string, sent: unknown, life: Life = null): Promise<TaskReport> =>
      takeReport(kind, taskId, read(schema, sent, whole), life);

  function order(taskId: string, sent: Given<TaskOrder>, signal: TaskOrderSignal): Promise<TaskReport> {
    const moment = engine.begin();
    mustFind(taskId);
    return carryOut(`task-${signal.kind}`, taskId, sent, moment, () => tasks.order(taskId, signal, moment));
  }

  const takesOrder =
    (kind: "cancel" | "block" | "unblock") =>
    async (taskId: string, sent: unknown, by: Principal = null): Promise<TaskReport> => {
      const request = readOrder(PlainOrder, sent, by);
      const { actor, reason } = request;
      return order(taskId, request, { kind, actor, reason });
    };

  function carryOut(
    kind: string,
    taskId: string,
    sent: Given<TaskOrder>,
    moment: Moment,
    obey: () => TaskReply,
    keep?: Pick<Keep, "answer">,
  ): Promise<TaskReport> {
    const given = noteOrder(kind, taskId, sent, moment);
    const reply = obey();
    if (reply.kind === "refused") addToTrail(refusalLine(given, reply.because, moment.time));
    return answer(taskId, reply, sent.to ?? null, moment, keep);
  }

  /** The outcome is a line of its own; the reason that the person gave is only in this one. */
  function noteOrder(
    order: string,
    subject: string,
    { actor, as, reason, to }: Given<TaskOrder>,
    { time }: Moment,
  ): GivenOrder {
    const given = { order, subject, actor, as, reason, evidence: to === undefined ? {} : { to } };
    addToTrail(orderLine(given, time));
    return given;
  }

  function refuseCircle(request: TaskRequest): void {
    const circle = findCircle(request, {
      dependenciesOf: (taskId) => tasks.find(taskId)?.dependsOn ?? [],
      isWaitedFor: (taskId) => tasks.dependentsOf(taskId).length > 0,
    });
    if (circle !== null)
      throw new Fault("bad-request", `dependsOn: it would wait for itself: ${describeCircle(circle)}`);
  }

  return {
    /** The same request sent again gets the same answer, as long as nothing has happened to the task. */
    async create(sent: unknown, by: Principal = null, keep?: Pick<Keep, "answer">): Promise<TaskReport> {
      const request = read(TaskRequest, sent, "task");
      const moment = engine.begin();
      refuseCircle(request);
      const known = tasks.find(request.taskId);
      const again = known !== undefined && known.because === "created" && isSame(known, request);
      const { taskId, actor } = request;
      const create = (): TaskReply => (again ? { kind: "granted", claim: null } : tasks.create(request, moment));
      if (again || actor === undefined) return answer(taskId, create(), null, moment, keep);
      return carryOut("task-create", taskId, readOrder(PlainOrder, { actor }, by), moment, create, keep);
    },
    list(filter: TaskFilter & { readonly limit: number; readonly cursor?: string | undefined }): TaskPage {
      const found = listTasks(tasks.all(), filter);
      const { page, next } = pageOfTasks(found, filter.limit, filter.cursor);
      const view = viewAt(readClock().now);
      return { tasks: page.map((task) => describeTask(task, view)), total: found.length, next };
    },
    show: (taskId: string): TaskReport => describeTask(mustFind(taskId), viewAt(readClock().now)),
    health: (): TaskHealth => describeTaskHealth(tasks.all(), viewAt(readClock().now)),

    async claim(taskId: string, sent: unknown, life: Life = null): Promise<TaskReport> {
      const { agentId } = read(ClaimRequest, sent, "claim");
      const moment = engine.begin();
      roster.refuseFormerLife(agentId, life);
      return answer(taskId, tasks.claim(taskId, agentId, moment, life), agentId, moment);
    },
    async claimNext(sent: unknown, life: Life = null): Promise<NextTask> {
      const { agentId } = read(ClaimRequest, sent, "claim");
      const moment = engine.begin();
      roster.refuseFormerLife(agentId, life);
      const next = tasks.claimNext(agentId, moment, life);
      return { task: next === null ? null : await answer(next.taskId, next.reply, agentId, moment) };
    },
    refresh: takesReport("refresh", TaskRefresh, "refresh"),
    update: takesReport("update", TaskUpdate, "update"),
    complete: takesReport("complete", TaskWord, "completion"),
    fail: takesReport("fail", TaskWord, "failure"),
    release: takesReport("release", TaskWord, "release"),

    cancel: takesOrder("cancel"),
    block: takesOrder("block"),
    unblock: takesOrder("unblock"),
    async reassign(taskId: string, sent: unknown, by: Principal = null): Promise<TaskReport> {
      const request = readOrder(TaskOrder, sent, by);
      const { actor, reason, to = null } = request;
      if (to !== null) roster.mustFind(to);
      return order(taskId, request, { kind: "reassign", actor, reason, to });
    },
    async retry(taskId: string, sent: unknown, by: Principal = null): Promise<TaskReport> {
      const request = readOrder(PlainOrder, sent, by);
      const moment = engine.begin();
      mustFind(taskId);
      return carryOut("task-retry", taskId, request, moment, () => tasks.retry(taskId, request.actor, moment));
    },

    async restoreAssignments(agentId: string, sent: unknown, by: Principal = null): Promise<AssignmentsReport> {
      const request = readOrder(PlainOrder, sent, by);
      const moment = engine.begin();
      if (!AgentId.safeParse(agentId).success || (roster.find(agentId) ?? tasks.standingOf(agentId)) == null)
        throw roster.unknown(agentId);
      noteOrder("trust", agentId, request, moment);
      tasks.restoreAssignments(agentId, request.actor, moment);
      await commits.saved();
      return { agentId, standing: tasks.standingOf(agentId)?.standing ?? "normal" };
    },
  };
}

export type TaskService = ReturnType<typeof serveTasks>;

const PlainOrder = TaskOrder.omit({ to: true });

function readOrder<T extends { readonly actor?: string | undefined }>(
  schema: z.ZodType<T>,
  sent: unknown,
  by: Principal,
): Given<T> {
  const request = read(schema, sent, "order");
  if (by !== null) return givenBy(by, request);
  return { ...request, actor: request.actor ?? "owner" };
}

/** An empty body asks for the defaults. */
function read<T>(schema: z.ZodType<T>, sent: unknown, whole: string): T {
  const parsed = schema.safeParse(sent ?? {});
  if (parsed.success) return parsed.data;
  throw new Fault("bad-request", describeIssues(parsed.error.issues, whole));
}

const isSame = (task: TaskRecord, request: TaskRequest): boolean =>
  definitionOf(task) === definitionOf(newTask(request, task.createdAt));

const definitionOf = ({ title, priority, owner, timeout, onTimeout, dependsOn }: TaskRecord): string =>
  JSON.stringify([title, priority, owner, timeout, onTimeout, dependsOn]);

/** What a source of tasks is given to work with. */
export function openDesk(tasks: Pick<Tasks, "find">, service: TaskService, onSaved: TaskDesk["onSaved"]): TaskDesk {
  return {
    find(taskId) {
      const record = tasks.find(taskId);
      return record === undefined ? null : { task: service.show(taskId), agentId: agentOf(record) };
    },
    create: service.create,
    order: (order, taskId, actor, reason) => service[order](taskId, { actor, reason }),
    onSaved,
  };
}
