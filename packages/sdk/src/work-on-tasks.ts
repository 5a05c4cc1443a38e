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

/** Only the id is needed. */
export type NewTask = Pick<TaskRequest, "taskId"> & Partial<TaskRequest>;

/** With an agent's own token nobody need say who speaks. `claim`: the number the claim was given with; naming it, an agent that lost it is told. */
export interface BySpeaker {
  readonly agentId?: string;
  readonly claim?: number;
}

export interface TaskQuery {
  readonly status?: TaskStatus | readonly TaskStatus[];
  readonly agentId?: string;
  /** 1000 when not given. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

type Order = Partial<Omit<TaskOrder, "to">>;

/** Tasks, for whoever hands them out and for the agents that do them. What is refused rejects with a `Fault` (`task-refused`) that says why. */
export interface TaskCalls {
  createTask(task: NewTask, once?: Once): Promise<TaskReport>;
  tasks(query?: TaskQuery): Promise<TaskPage>;
  task(taskId: string): Promise<TaskReport>;
  taskHealth(): Promise<TaskHealth>;
  /** The answer's `claim.number` belongs into every further word about the task. */
  claimTask(taskId: string, agentId?: string): Promise<TaskReport>;
  /** The most urgent task that is ready; what the agent was given and has not begun comes first. `null`: there is nothing to do. */
  claimNextTask(agentId?: string): Promise<TaskReport | null>;
  /** Still meant. That is no work: only updates and checkpoints are. */
  refreshTask(taskId: string, by?: BySpeaker): Promise<TaskReport>;
  updateTask(taskId: string, update?: BySpeaker & Partial<Pick<TaskUpdate, "note" | "status">>): Promise<TaskReport>;
  completeTask(taskId: string, by?: BySpeaker & { readonly note?: string }): Promise<TaskReport>;
  failTask(taskId: string, by?: BySpeaker & { readonly note?: string }): Promise<TaskReport>;
  releaseTask(taskId: string, by?: BySpeaker & { readonly note?: string }): Promise<TaskReport>;
  cancelTask(taskId: string, order?: Order): Promise<TaskReport>;
  /** To one agent, or to whoever claims it. */
  reassignTask(taskId: string, order?: Partial<TaskOrder>): Promise<TaskReport>;
  blockTask(taskId: string, order?: Order): Promise<TaskReport>;
  unblockTask(taskId: string, order?: Order): Promise<TaskReport>;
  /** What failed or was cancelled is tried again. */
  retryTask(taskId: string, order?: Order): Promise<TaskReport>;
  /** An agent that got fewer tasks, or none, because too many failed, is trusted again. */
  restoreAssignments(agentId: string, order?: Order): Promise<AssignmentsReport>;
}

/** The same calls by themselves, for whoever needs no others. */
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
