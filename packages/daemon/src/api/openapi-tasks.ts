import {
  AssignmentsReport,
  ClaimRequest,
  NextTask,
  TaskHealth,
  TaskOrder,
  TaskPage,
  TaskRefresh,
  TaskReport,
  TaskRequest,
  TaskUpdate,
  TaskWord,
} from "@rouse/contract";

/** What tasks add to the schemas of the API's document. */
export const taskSchemas = {
  Task: TaskReport,
  TaskRequest,
  ClaimRequest,
  TaskRefresh,
  TaskUpdate,
  TaskWord,
  TaskOrder,
  Tasks: TaskPage,
  NextTask,
  TaskHealth,
  Assignments: AssignmentsReport,
};

type Operations = Readonly<Record<string, object>>;

/** How the document is written; it belongs to `openapi.ts`. */
interface Writing {
  readonly ref: (name: keyof typeof taskSchemas) => object;
  readonly json: (schema: object) => object;
  readonly get: (summary: string, schema: object, parameters?: object[]) => Operations;
  readonly post: (summary: string, body: object, schema: object, parameters?: object[]) => Operations;
  readonly query: (name: string, description: string, type?: string) => object;
  readonly withEitherToken: (operations: Operations) => Operations;
}

const taskParameter = { name: "id", in: "path", required: true, schema: { type: "string" } };

const words = {
  claim: ["Claim it; an agent that is over gets nothing (agent-over)", "ClaimRequest"],
  refresh: ["The claim is still meant", "TaskRefresh"],
  update: ["It goes on, or cannot without a person", "TaskUpdate"],
  complete: ["It is done", "TaskWord"],
  fail: ["It cannot be done", "TaskWord"],
  release: ["Give it back", "TaskWord"],
} as const;

const orders = {
  cancel: "Nobody is to do it any more",
  reassign: "Take it from whoever has it, for one agent that is not over or for any",
  block: "Nobody is to go on before a person says so",
  unblock: "It may go on",
  retry: "Try again what failed or was cancelled",
} as const;

export function taskPaths({ ref, json, get, post, query, withEitherToken }: Writing): Record<string, object> {
  const word = ([name, [summary, body]]: [string, readonly [string, keyof typeof taskSchemas]]) => [
    `/api/v1/tasks/{id}/${name}`,
    withEitherToken(post(summary, json(ref(body)), ref("Task"), [taskParameter])),
  ];
  const order = ([name, summary]: [string, string]) => [
    `/api/v1/tasks/{id}/${name}`,
    post(summary, json(ref("TaskOrder")), ref("Task"), [taskParameter]),
  ];
  return {
    "/api/v1/tasks": {
      ...withEitherToken(
        get("Tasks: open ones in their order, then those that are over", ref("Tasks"), [
          query("status", "only these, separated by commas"),
          query("agentId", "only what this agent has, ended, or is meant to have"),
          query("limit", "1 to 10000; 1000 when not given", "integer"),
        ]),
      ),
      ...post("A new task", json(ref("TaskRequest")), ref("Task")),
    },
    "/api/v1/tasks/claim-next": withEitherToken(
      post("Claim the most urgent task that is ready", json(ref("ClaimRequest")), ref("NextTask")),
    ),
    "/api/v1/tasks/{id}": withEitherToken(get("One task", ref("Task"), [taskParameter])),
    ...Object.fromEntries([...Object.entries(words).map(word), ...Object.entries(orders).map(order)]),
    "/api/v1/agents/{id}/assignments/restore": post(
      "Trust an agent with as many tasks as any other again",
      json(ref("TaskOrder")),
      ref("Assignments"),
      [taskParameter],
    ),
    "/api/health/tasks": get("Tasks in numbers, and those that are not over", ref("TaskHealth")),
  };
}
