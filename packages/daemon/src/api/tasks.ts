import {
  AssignmentsReport,
  ClaimRequest,
  NextTask,
  OrderAnswer,
  OrderRequest,
  RecoveryStatus,
  TaskHealth,
  TaskOrder,
  TaskPage,
  TaskRefresh,
  TaskReport,
  TaskRequest,
  TaskStatus,
  TaskUpdate,
  TaskWord,
} from "@rouse/contract";
import type { z } from "zod";
import { givenBy } from "../orders/note-orders.ts";
import type { TaskRecovery } from "../tasks/recover-tasks.ts";
import type { TaskService } from "../tasks/serve-tasks.ts";
import {
  type Ask,
  cursorText,
  get,
  limit,
  owner,
  ownerAnd,
  type Params,
  post,
  type Route,
  readers,
  readersAnd,
  someOf,
  text,
} from "./route.ts";
import { refuseOverreach, type WhoMayParts } from "./who-may.ts";

interface TaskParts extends Pick<WhoMayParts, "noteRefusedSpeaker"> {
  readonly service: TaskService;
}

type WorkerCall = "claim" | "refresh" | "update" | "complete" | "fail" | "release";
/** What a worker may ask and report of a task; the task decides whether it is the worker's. */
const workerCalls: Readonly<Record<WorkerCall, readonly [about: string, body: z.ZodType]>> = {
  claim: ["Claim it; an agent that is over gets nothing (agent-over)", ClaimRequest],
  refresh: ["Keep the claim; this does not count as work", TaskRefresh],
  update: ["It goes on, or cannot without a person", TaskUpdate],
  complete: ["It is done", TaskWord],
  fail: ["It cannot be done", TaskWord],
  release: ["Give it back", TaskWord],
};

type Order = "cancel" | "reassign" | "block" | "unblock" | "retry";
const orders: Readonly<Record<Order, string>> = {
  cancel: "Nobody is to do it any more",
  reassign: "Take it from whoever has it, for one agent that is not over or for any",
  block: "Nobody is to go on before a person says so",
  unblock: "It may go on",
  retry: "Try again what failed or was cancelled",
};

export function taskRoutes(parts: TaskParts): Route[] {
  const { service } = parts;
  return [
    get("/api/v1/tasks", {
      who: readersAnd("any"),
      id: "listTasks",
      about: "Tasks: open ones in their order, then those that are over",
      request: {
        query: {
          status: someOf("only these", TaskStatus.options),
          agentId: text("only what this agent has, ended, or is meant to have"),
          limit: limit(1000, 10_000),
          cursor: cursorText,
        },
      },
      answer: { 200: TaskPage },
      run: ({ query }) => service.list(query),
    }),
    post("/api/v1/tasks", {
      who: owner,
      id: "createTask",
      about: "A new task",
      request: { body: TaskRequest, read: "inside", once: true },
      answer: { 201: TaskReport },
      faults: ["task-refused"],
      run: ({ body, principal, keep }) => service.create(body, principal, keep),
    }),
    get("/api/v1/tasks/{id}", {
      who: readersAnd("any"),
      id: "getTask",
      about: "One task",
      answer: { 200: TaskReport },
      faults: ["task-unknown"],
      run: ({ id }) => service.show(id),
    }),
    get("/api/health/tasks", {
      who: readers,
      id: "getTaskHealth",
      about: "Tasks in numbers, and those that are not over",
      answer: { 200: TaskHealth },
      run: () => service.health(),
    }),
    post("/api/v1/tasks/claim-next", {
      who: ownerAnd("queue"),
      id: "claimNextTask",
      about: "Claim the most urgent task that is ready",
      request: { body: ClaimRequest, read: "inside" },
      answer: { 200: NextTask },
      faults: ["task-refused"],
      run: (ask) => service.claimNext(saidBy(ask, parts), ask.agent?.incarnation ?? null),
    }),
    ...Object.entries(workerCalls).map(([call, [about, body]]) =>
      post(`/api/v1/tasks/{id}/${call}`, {
        who: ownerAnd("its-task"),
        id: `${call}Task`,
        about,
        request: { body, read: "inside" },
        answer: { 200: TaskReport },
        faults: ["task-unknown", "task-refused"],
        run: (ask) => service[call as WorkerCall](ask.id, saidBy(ask, parts), ask.agent?.incarnation ?? null),
      }),
    ),
    ...Object.entries(orders).map(([order, about]) =>
      post(`/api/v1/tasks/{id}/${order}`, {
        who: owner,
        id: `${order}Task`,
        about,
        request: { body: TaskOrder, read: "inside" },
        answer: { 200: TaskReport },
        faults: ["task-unknown", "task-refused", ...(order === "reassign" ? ["agent-unknown" as const] : [])],
        run: ({ id, body, principal }) => service[order as Order](id, body, principal),
      }),
    ),
    post("/api/v1/agents/{id}/assignments/restore", {
      who: owner,
      id: "restoreAssignments",
      about: "Trust an agent with as many tasks as any other again",
      request: { body: TaskOrder, read: "inside" },
      answer: { 200: AssignmentsReport },
      faults: ["agent-unknown"],
      run: ({ id, body, principal }) => service.restoreAssignments(id, body, principal),
    }),
  ];
}

export function recoveryRoutes(recovery: Pick<TaskRecovery, "recoverTask" | "recoveryStatus">): Route[] {
  return [
    post("/api/v1/tasks/{id}/recover", {
      who: owner,
      id: "recoverTask",
      about: "Bring back whoever works on this task",
      request: { body: OrderRequest },
      answer: { 200: OrderAnswer },
      faults: ["task-unknown", "task-refused", "not-supervised", "order-refused"],
      run: ({ id, body, principal }) => recovery.recoverTask(id, givenBy(principal, body)),
    }),
    get("/api/v1/tasks/{id}/recovery", {
      who: readers,
      id: "getRecovery",
      about: "How far that has come",
      answer: { 200: RecoveryStatus },
      faults: ["task-unknown"],
      run: ({ id }) => recovery.recoveryStatus(id),
    }),
  ];
}

/** With an agent's own token, the token says who speaks. */
function saidBy({ agent, body }: Ask<Params, unknown>, { noteRefusedSpeaker }: TaskParts): unknown {
  const said = body ?? {};
  if (agent === null || typeof said !== "object") return said;
  const { agentId } = said as Record<string, unknown>;
  refuseOverreach(agent, { agentId }, { noteRefusedSpeaker, holdsTask: () => true });
  return { agentId: agent.agentId, ...said };
}
