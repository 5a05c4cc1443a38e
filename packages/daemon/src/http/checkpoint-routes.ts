import type { IncomingMessage } from "node:http";
import { Fault, stateLimits } from "@rouse/contract";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { findOverreach } from "../home/agent-token.ts";
import type { Checkpoints } from "../runtime/keep-checkpoints.ts";
import type { RefusedSpeaker } from "../runtime/monitor.ts";
import type { CheckpointSpeaker } from "../runtime/read-checkpoint.ts";
import { type AgentSpeaker, forbid } from "./guard.ts";
import { parseState } from "./parse-state.ts";
import { type AgentOf, readLimit } from "./routes.ts";

const mebibyte = 1024 * 1024;
/** A state may be written less tightly than it is kept. */
const largestBody = stateLimits.bytes + mebibyte;
/** Bodies that are being received; further ones have to wait, so that many agents at once do not fill the memory. */
const mostAtOnce = 4 * largestBody;

const tooLarge = `at most ${largestBody / mebibyte} MiB in one request, and ${stateLimits.bytes / mebibyte} MiB for a state; keep large data in the workspace, and in the state only what refers to it`;

type OfTask = { Params: { id: string }; Querystring: Record<string, string | undefined> };

export interface CheckpointRouteParts {
  readonly checkpoints: Pick<Checkpoints, "save" | "list" | "show" | "verify" | "noteRefused">;
  readonly agentOf: AgentOf;
  readonly noteRefusedSpeaker: (refused: RefusedSpeaker) => void;
}

/** The chains of checkpoints over HTTP. In a scope of their own, because they take larger bodies than the other routes. */
export function addCheckpointRoutes(app: FastifyInstance, parts: CheckpointRouteParts): void {
  void app.register(async (scope) => {
    takeLargeBodies(scope);
    addRoutes(scope, parts);
  });
}

function addRoutes(scope: FastifyInstance, { checkpoints, agentOf, noteRefusedSpeaker }: CheckpointRouteParts): void {
  const refuse = (agent: AgentSpeaker, overreach: Omit<RefusedSpeaker, "agentId">): never => {
    noteRefusedSpeaker({ agentId: agent.agentId, ...overreach });
    throw forbid(agent);
  };

  /** An agent speaks about its own task only, and for itself. */
  const speakerOf = (request: IncomingMessage, taskId: string, said: unknown = null): CheckpointSpeaker => {
    const agent = agentOf(request);
    if (agent === null) return { agentId: null, incarnation: null };
    const claims = typeof said === "object" && said !== null ? said : {};
    const overreach = findOverreach(agent, { ...claims, taskId });
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
      const { checkpoint, isNew } = await checkpoints.save(id, body, speakerOf(raw, id, body));
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

function takeLargeBodies(scope: FastifyInstance): void {
  let receiving = 0;
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
    const announced = Math.min(Number(raw.headers["content-length"]) || largestBody, largestBody);
    if (receiving > 0 && receiving + announced > mostAtOnce)
      throw new Fault("store-unavailable", "many large checkpoints are being saved; send it again in a moment", {
        retryable: true,
      });
    receiving += announced;
    reply.raw.once("close", () => {
      receiving -= announced;
    });
  });
}
