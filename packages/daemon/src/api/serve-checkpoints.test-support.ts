import { Fault } from "@rouse/contract";
import fastify, { type FastifyInstance } from "fastify";

import { type CheckpointWorld, openCheckpointWorld } from "../checkpoints/checkpoint-world.test-support.ts";
import type { RefusedSpeaker } from "../monitor.ts";
import { addCheckpointRoutes } from "./checkpoints.ts";

import { statusOf, toProblem } from "./problem.ts";
import type { AgentSpeaker } from "./speaker.ts";

export interface ServedCheckpoints {
  readonly app: FastifyInstance;
  readonly base: string;
  readonly world: CheckpointWorld;
  /** Whose token requests are made with from now on; `null` for the operator's. */
  agent: AgentSpeaker | null;
  /** Who holds which task by a claim. */
  readonly claims: Map<string, string>;
  readonly refused: RefusedSpeaker[];
}

/** The routes on a real server, set up as the daemon sets up its own. */
export async function serveCheckpoints(): Promise<ServedCheckpoints> {
  const world = await openCheckpointWorld();
  const app = fastify({ bodyLimit: 1024 * 1024, forceCloseConnections: true });
  app.setErrorHandler((error, _, reply) =>
    error instanceof Fault ? reply.code(statusOf(error)).send(toProblem(error)) : reply.code(500).send(String(error)),
  );
  const refused: RefusedSpeaker[] = [];
  const shared = { agent: null as AgentSpeaker | null, claims: new Map<string, string>() };
  addCheckpointRoutes(app, {
    checkpoints: world.checkpoints,
    agentOf: () => shared.agent,
    noteRefusedSpeaker: (one) => void refused.push(one),
    holdsTask: (agentId, taskId) => shared.claims.get(taskId) === agentId,
  });
  const base = await app.listen({ host: "127.0.0.1", port: 0 });
  return Object.assign(shared, { app, base, world, refused });
}
