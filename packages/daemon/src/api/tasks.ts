import { Fault, TaskStatus } from "@rouse/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { findOverreach } from "../home/agent-token.ts";

import type { RefusedSpeaker } from "../monitor.ts";
import type { TaskService } from "../tasks/serve-tasks.ts";
import { type AgentOf, type PrincipalOf, readLimit } from "./agents.ts";

import { forbid } from "./guard.ts";

export interface TaskDoor {
  readonly agentOf: AgentOf;
  readonly principalOf: PrincipalOf;
  noteRefusedSpeaker(refused: RefusedSpeaker): void;
}

type Query = Record<string, string | undefined>;
type WithId = { Params: { id: string }; Querystring: Query };

const mostTasks = 10_000;
const orders = ["cancel", "reassign", "block", "unblock", "retry"] as const;
const words = ["claim", "refresh", "update", "complete", "fail", "release"] as const;

export function addTaskRoutes(app: FastifyInstance, tasks: TaskService, door: TaskDoor): void {
  app.get<{ Querystring: Query }>("/api/v1/tasks", (request) => {
    const { status, agentId, limit } = request.query;
    return tasks.list({ status: readStatus(status), agentId, limit: readLimit(limit, 1000, mostTasks) });
  });
  app.get<WithId>("/api/v1/tasks/:id", (request) => tasks.show(request.params.id));
  app.get("/api/health/tasks", () => tasks.health());
  app.post("/api/v1/tasks", async ({ body, raw }, reply) =>
    reply.code(201).send(await tasks.create(body, door.principalOf(raw))),
  );
  for (const order of orders)
    app.post<WithId>(`/api/v1/tasks/:id/${order}`, ({ params, body, raw }) =>
      tasks[order](params.id, body, door.principalOf(raw)),
    );
  app.post<WithId>("/api/v1/agents/:id/assignments/restore", ({ params, body, raw }) =>
    tasks.restoreAssignments(params.id, body, door.principalOf(raw)),
  );
  addWords(app, tasks, door);
}

function addWords(app: FastifyInstance, tasks: TaskService, door: TaskDoor): void {
  app.post("/api/v1/tasks/claim-next", (request) => {
    const { sent, life } = speakerOf(request, door);
    return tasks.claimNext(sent, life);
  });
  for (const word of words) {
    app.post<WithId>(`/api/v1/tasks/:id/${word}`, (request) => {
      const { sent, life } = speakerOf(request, door);
      return tasks[word](request.params.id, sent, life);
    });
  }
}

/** An agent's own token says who speaks, and of which life; nobody speaks for another with it. */
function speakerOf(request: FastifyRequest, door: TaskDoor): { sent: unknown; life: number | null } {
  const agent = door.agentOf(request.raw);
  const body = request.body ?? {};
  if (agent === null) return { sent: body, life: null };
  if (typeof body !== "object") return { sent: body, life: agent.incarnation };
  const { agentId, incarnation } = agent;
  const overreach = findOverreach(agent, { agentId: (body as Record<string, unknown>)["agentId"] }, () => true);
  if (overreach !== null) {
    door.noteRefusedSpeaker({ agentId, ...overreach });
    throw forbid(agent);
  }
  return { sent: { agentId, ...body }, life: incarnation };
}

function readStatus(given: string | undefined): TaskStatus[] | undefined {
  return given?.split(",").map((one) => {
    const parsed = TaskStatus.safeParse(one.trim());
    if (parsed.success) return parsed.data;
    throw new Fault("bad-request", `status: one or more of ${TaskStatus.options.join(", ")}, separated by commas`);
  });
}
