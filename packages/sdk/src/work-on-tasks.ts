import type {
  AssignmentsReport,
  NextTask,
  TaskHealth,
  TaskOrder,
  TaskPage,
  TaskReport,
  TaskRequest,
  TaskStatus,
  TaskUpdate,
} from "@rouse/contract";
import { agentPath, taskPath } from "./agent-path.ts";
import { ask, type Once, searchFor, withSearch } from "./call-api.ts";
import { type ConnectOptions, type Line, openLine } from "./open-line.ts";

/** Only the id is required. */
export type NewTask = Pick<TaskRequest, "taskId"> & Partial<TaskRequest>;

/**
 * With an agent's own token `agentId` is not needed. `claim`: the number of the claim; an agent that names it learns
 * when it has lost the claim.
 */
export interface BySpeaker {
  readonly agentId?: string;
  readonly claim?: number;
}

export interface TaskQuery {
  readonly status?: TaskStatus | readonly TaskStatus[];
  readonly agentId?: string;
  /** 1000 by default. */
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly cursor?: string;
}

type Order = Partial<Omit<TaskOrder, "to">>;

/**
 * Tasks, for those who hand them out and for the agents that do them. A refused call rejects with a `Fault`
 * (`task-refused`) that says why.
 */
export interface TaskCalls {
  createTask(task: NewTask, once?: Once): Promise<TaskReport>;
  tasks(query?: TaskQuery): Promise<TaskPage>;
  task(taskId: string): Promise<TaskReport>;
  taskHealth(): Promise<TaskHealth>;
  /** Pass the answer's `claim.number` to every further call about the task. */
  claimTask(taskId: string, agentId?: string): Promise<TaskReport>;
  /** The most urgent task that is ready, first those assigned to the agent. `null`: there is nothing to do. */
  claimNextTask(agentId?: string): Promise<TaskReport | null>;
  /** Keeps the claim alive. It does not count as work: only updates and checkpoints do. */
  refreshTask(taskId: string, by?: BySpeaker): Promise<TaskReport>;
  updateTask(taskId: string, update?: BySpeaker & Partial<Pick<TaskUpdate, "note" | "status">>): Promise<TaskReport>;
  completeTask(taskId: string, by?: BySpeaker & { readonly note?: string }): Promise<TaskReport>;
  failTask(taskId: string, by?: BySpeaker & { readonly note?: string }): Promise<TaskReport>;
  releaseTask(taskId: string, by?: BySpeaker & { readonly note?: string }): Promise<TaskReport>;
  cancelTask(taskId: string, order?: Order): Promise<TaskReport>;
  /** To one agent, or to any that claims it. */
  reassignTask(taskId: string, order?: Partial<TaskOrder>): Promise<TaskReport>;
  blockTask(taskId: string, order?: Order): Promise<TaskReport>;
  unblockTask(taskId: string, order?: Order): Promise<TaskReport>;
  /** Tries a failed or cancelled task again. */
  retryTask(taskId: string, order?: Order): Promise<TaskReport>;
  /** Lets an agent claim tasks as before that got fewer, or none, because too many failed. */
  restoreAssignments(agentId: string, order?: Order): Promise<AssignmentsReport>;
}

/** The same calls alone, for callers that need no others. */
export const connectTasks = (options: ConnectOptions): TaskCalls => workOnTasks(openLine(options));

export function workOnTasks(line: Line): TaskCalls {
  const say = async (taskId: string, word: string, body: object = {}): Promise<TaskReport> =>
    ask(line, { path: `${taskPath(taskId)}/${word}`, body });
  return {
    createTask: async (task, once) => ask(line, { path: "/api/v1/tasks", body: task, key: once?.key }),
    tasks: async (query = {}) => ask(line, { path: withSearch("/api/v1/tasks", searchFor(query)) }),
    task: async (taskId) => ask(line, { path: taskPath(taskId) }),
    taskHealth: async () => ask(line, { path: "/api/health/tasks" }),
    claimTask: (taskId, agentId) => say(taskId, "claim", { agentId }),
    claimNextTask: async (agentId) =>
      (await ask<NextTask>(line, { path: "/api/v1/tasks/claim-next", body: { agentId } })).task,
    refreshTask: (taskId, by) => say(taskId, "refresh", by),
    updateTask: (taskId, update) => say(taskId, "update", update),
    completeTask: (taskId, by) => say(taskId, "complete", by),
    failTask: (taskId, by) => say(taskId, "fail", by),
    releaseTask: (taskId, by) => say(taskId, "release", by),
    cancelTask: (taskId, order) => say(taskId, "cancel", order),
    reassignTask: (taskId, order) => say(taskId, "reassign", order),
    blockTask: (taskId, order) => say(taskId, "block", order),
    unblockTask: (taskId, order) => say(taskId, "unblock", order),
    retryTask: (taskId, order) => say(taskId, "retry", order),
    restoreAssignments: async (agentId, order = {}) =>
      ask(line, { path: `${agentPath(agentId)}/assignments/restore`, body: order }),
  };
}
