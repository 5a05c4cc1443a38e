import type { IncomingMessage, ServerResponse } from "node:http";
import {
  Checkpoint,
  CheckpointList,
  CheckpointRequest,
  CheckpointVerdict,
  CheckpointWithState,
  Fault,
  stateLimits,
} from "@rouse/contract";
import type { CheckpointSpeaker, Checkpoints } from "../checkpoints/keep-checkpoints.ts";
import type { HoldsTask } from "../home/agent-token.ts";
import type { AgentSpeaker } from "./guard.ts";
import { cursor, get, limit, ownerAnd, post, type Route, readersAnd } from "./route.ts";
import { refuseOverreach, type WhoMayParts } from "./who-may.ts";

const mebibyte = 1024 * 1024;
/** A state may be sent with more whitespace than it is kept with. */
const largestBody = stateLimits.bytes + mebibyte;
/** In bytes, what is received and saved at once; more is refused, so that many agents do not fill the memory. */
const mostAtOnce = 4 * largestBody;
/** A waiting request takes memory, however small its body. */
const leastCounted = 16 * 1024;

const tooLarge = `at most ${largestBody / mebibyte} MiB in one request, and ${stateLimits.bytes / mebibyte} MiB for a state; keep large data in the workspace, and in the state only what refers to it`;

interface CheckpointParts extends Pick<WhoMayParts, "noteRefusedSpeaker"> {
  readonly checkpoints: Pick<Checkpoints, "save" | "list" | "show" | "verify" | "noteRefused">;
  readonly holdsTask: HoldsTask;
}

/** The chains of checkpoints over HTTP. */
export function checkpointRoutes(parts: CheckpointParts): Route[] {
  const { checkpoints } = parts;
  const { begin, holds } = boundBodies();

  /** An agent speaks for itself and about its own task only. */
  const speakerOf = (agent: AgentSpeaker | null, taskId: string, said: unknown = null): CheckpointSpeaker => {
    if (agent === null) return { agentId: null, incarnation: null };
    const claims = typeof said === "object" && said !== null ? said : {};
    refuseOverreach(agent, { ...claims, taskId }, parts);
    return agent;
  };

  return [
    post("/api/v1/tasks/{id}/checkpoints", {
      who: ownerAnd("any"),
      id: "saveCheckpoint",
      about: "Save where a task stands; the same sent again is the one that is there (200)",
      request: {
        body: CheckpointRequest,
        read: "inside",
        as: "state",
        limit: { bytes: largestBody, told: tooLarge },
        begin,
        tooLarge: ({ id, agent }) => checkpoints.noteRefused(id, speakerOf(agent, id).agentId, tooLarge),
      },
      answer: { 200: Checkpoint, 201: Checkpoint },
      faults: ["task-unknown", "task-refused", "checkpoint-refused"],
      async run({ id, body, agent, raw, reply }) {
        const { checkpoint, isNew } = await holds(raw, checkpoints.save(id, body, speakerOf(agent, id, body)));
        if (isNew) reply.code(201);
        return checkpoint;
      },
    }),
    get("/api/v1/tasks/{id}/checkpoints", {
      who: readersAnd("any"),
      id: "listCheckpoints",
      about: "Its chain, newest first",
      request: { query: { limit: limit(100, 1000), cursor } },
      answer: { 200: CheckpointList },
      run({ id, query, agent }) {
        speakerOf(agent, id);
        return checkpoints.list(id, query.limit, query.cursor);
      },
    }),
    get("/api/v1/tasks/{id}/checkpoints/verify", {
      who: readersAnd("any"),
      id: "verifyCheckpoints",
      about: "Every hash of the chain worked out again",
      answer: { 200: CheckpointVerdict },
      run({ id, agent }) {
        speakerOf(agent, id);
        return checkpoints.verify(id);
      },
    }),
    get("/api/v1/checkpoints/{id}", {
      who: readersAnd("any"),
      id: "getCheckpoint",
      about: "One, with its state",
      answer: { 200: CheckpointWithState },
      faults: ["checkpoint-unknown"],
      async run({ id, agent, reply }) {
        const { checkpoint, state } = await checkpoints.show(id);
        speakerOf(agent, checkpoint.taskId);
        // The state is JSON already: it is not parsed and written again.
        const text = `${JSON.stringify(checkpoint).slice(0, -1)},"state":${state}}`;
        return reply.type("application/json; charset=utf-8").send(text);
      },
    }),
  ];
}

/** Counts each body until it is saved, also when its client has disconnected. */
function boundBodies() {
  let held = 0;
  const saves = new WeakMap<IncomingMessage, Promise<unknown>>();
  return {
    begin(request: IncomingMessage, response: ServerResponse): void {
      const announced = Number(request.headers["content-length"]) || largestBody;
      const counted = Math.min(Math.max(announced, leastCounted), largestBody);
      if (held > 0 && held + counted > mostAtOnce)
        throw new Fault("store-unavailable", "many large checkpoints are being saved; send it again in a moment", {
          retryable: true,
        });
      held += counted;
      const letGo = (): void => {
        held -= counted;
      };
      response.once("close", () => void Promise.resolve(saves.get(request)).then(letGo, letGo));
    },
    holds<T>(request: IncomingMessage, saving: Promise<T>): Promise<T> {
      saves.set(request, saving);
      return saving;
    },
  };
}
