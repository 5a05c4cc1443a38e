import type { IncomingMessage } from "node:http";
import { Fault, stateLimits } from "@rouse/contract";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Checkpoints } from "../checkpoints/keep-checkpoints.ts";
import type { CheckpointSpeaker } from "../checkpoints/read-checkpoint.ts";
import { findOverreach, type HoldsTask } from "../home/agent-token.ts";
import type { RefusedSpeaker } from "../monitor.ts";
import { type AgentOf, readLimit } from "./agents.ts";

import { forbid } from "./guard.ts";
import { parseState } from "./parse-state.ts";
import type { AgentSpeaker } from "./speaker.ts";

const mebibyte = 1024 * 1024;
/** A state may be written less tightly than it is kept. */
const largestBody = stateLimits.bytes + mebibyte;
/** Bodies that are being received or saved; further ones have to wait, so that many agents at once do not fill the memory. */
const mostAtOnce = 4 * largestBody;
/** What waits takes memory, however little it says. */
const leastCounted = 16 * 1024;

const tooLarge = `at most ${largestBody / mebibyte} MiB in one request, and ${stateLimits.bytes / mebibyte} MiB for a state; keep large data in the workspace, and in the state only what refers to it`;

type OfTask = { Params: { id: string }; Querystring: Record<string, string | undefined> };

export interface CheckpointRouteParts {
  readonly checkpoints: Pick<Checkpoints, "save" | "list" | "show" | "verify" | "noteRefused">;
  readonly agentOf: AgentOf;
  readonly noteRefusedSpeaker: (refused: RefusedSpeaker) => void;
  readonly holdsTask: HoldsTask;
}

/** The chains of checkpoints over HTTP. In a scope of their own, because they take larger bodies than the other routes. */
export function addCheckpointRoutes(app: FastifyInstance, parts: CheckpointRouteParts): void {
  void app.register(async (scope) => {
    addRoutes(scope, parts, takeLargeBodies(scope));
  });
}

function addRoutes(
  scope: FastifyInstance,
  { checkpoints, agentOf, noteRefusedSpeaker, holdsTask }: CheckpointRouteParts,
  holds: Holds,
): void {
  const refuse = (agent: AgentSpeaker, overreach: Omit<RefusedSpeaker, "agentId">): never => {
    noteRefusedSpeaker({ agentId: agent.agentId, ...overreach });
    throw forbid(agent);
  };

  /** An agent speaks about its own task only, and for itself. */
  const speakerOf = (request: IncomingMessage, taskId: string, said: unknown = null): CheckpointSpeaker => {
    const agent = agentOf(request);
    if (agent === null) return { agentId: null, incarnation: null };
    const claims = typeof said === "object" && said !== null ? said : {};
    const overreach = findOverreach(agent, { ...claims, taskId }, holdsTask);
    return overreach === null ? agent : refuse(agent, overreach);
  };

  const nameLimit = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): never => {
    if (error.statusCode !== 413) throw error;
    // Whoever is still sending hears the answer only while we listen: the rest is received and thrown away.
    reply.removeHeader("connection");
    request.raw.resume();
    const { id } = request.params as OfTask["Params"];
    checkpoints.noteRefused(id, speakerOf(request.raw, id).agentId, tooLarge);
    throw new Fault("body-too-large", tooLarge, { cause: error });
  };

  scope.post<OfTask>(
    "/api/v1/tasks/:id/checkpoints",
    { bodyLimit: largestBody, errorHandler: nameLimit },
    async ({ params: { id }, body, raw }, reply) => {
      const { checkpoint, isNew } = await holds(raw, checkpoints.save(id, body, speakerOf(raw, id, body)));
      return reply.code(isNew ? 201 : 200).send(checkpoint);
    },
  );
  scope.get<OfTask>("/api/v1/tasks/:id/checkpoints", ({ params: { id }, query, raw }) => {
    speakerOf(raw, id);
    return checkpoints.list(id, readLimit(query["limit"], 100));
  });
  scope.get<OfTask>("/api/v1/tasks/:id/checkpoints/verify", ({ params: { id }, raw }) => {
    speakerOf(raw, id);
    return checkpoints.verify(id);
  });
  scope.get<OfTask>("/api/v1/checkpoints/:id", async ({ params: { id }, raw }, reply) => {
    const { checkpoint, state } = await checkpoints.show(id);
    speakerOf(raw, checkpoint.taskId);
    // The state is JSON already; to parse it and to write it again would be work for nothing.
    const text = `${JSON.stringify(checkpoint).slice(0, -1)},"state":${state}}`;
    return reply.type("application/json; charset=utf-8").send(text);
  });
}

/** A body that came counts until what is done with it is over: whoever hangs up meanwhile does not make it smaller. */
type Holds = <T>(request: IncomingMessage, saving: Promise<T>) => Promise<T>;

function takeLargeBodies(scope: FastifyInstance): Holds {
  let held = 0;
  const saves = new WeakMap<IncomingMessage, Promise<unknown>>();
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", { parseAs: "string" }, (_, body, done) => {
    try {
      done(null, parseState(String(body)));
    } catch (error) {
      done(error as Error);
    }
  });
  scope.addHook("onRequest", async ({ raw, method }, reply) => {
    if (method !== "POST") return;
    const announced = Number(raw.headers["content-length"]) || largestBody;
    const counted = Math.min(Math.max(announced, leastCounted), largestBody);
    if (held > 0 && held + counted > mostAtOnce)
      throw new Fault("store-unavailable", "many large checkpoints are being saved; send it again in a moment", {
        retryable: true,
      });
    held += counted;
    const letGo = (): void => {
      held -= counted;
    };
    reply.raw.once("close", () => void Promise.resolve(saves.get(raw)).then(letGo, letGo));
  });
  return (request, saving) => {
    saves.set(request, saving);
    return saving;
  };
}
