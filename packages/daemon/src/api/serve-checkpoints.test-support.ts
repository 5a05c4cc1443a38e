import type { FastifyInstance } from "fastify";
import { type CheckpointWorld, openCheckpointWorld } from "../checkpoints/checkpoint-world.test-support.ts";
import type { RefusedSpeaker } from "../monitor.ts";
import { checkpointRoutes } from "./checkpoints.ts";
import type { AgentSpeaker } from "./guard.ts";
import { ownerSpeaks, serveTable } from "./serve-table.test-support.ts";

export interface ServedCheckpoints {
  readonly app: FastifyInstance;
  readonly base: string;
  readonly world: CheckpointWorld;
  /** Whose token requests are made with from now on; `null` for the operator's. */
  agent: AgentSpeaker | null;
  /** Who holds which task by a claim. */
  readonly claims: Map<string, string>;
  readonly refused: RefusedSpeaker[];
  /** Tasks that are known without a checkpoint. */
  readonly tasks: Set<string>;
}

/** The lines about checkpoints on a real server. */
export async function serveCheckpoints(): Promise<ServedCheckpoints> {
  const world = await openCheckpointWorld();
  const refused: RefusedSpeaker[] = [];
  const shared = { agent: null as AgentSpeaker | null, claims: new Map<string, string>(), tasks: new Set<string>() };
  const table = checkpointRoutes({
    checkpoints: world.checkpoints,
    noteRefusedSpeaker: (one) => void refused.push(one),
    holdsTask: (agentId, taskId) => shared.claims.get(taskId) === agentId,
    knowsTask: (taskId) => shared.tasks.has(taskId),
  });
  const app = serveTable(table, { speakerOf: () => shared.agent ?? ownerSpeaks, refused });
  const base = await app.listen({ host: "127.0.0.1", port: 0 });
  return Object.assign(shared, { app, base, world, refused });
}
