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
/** A waiting request takes memory, however small its body. */
const leastCounted = 16 * 1024;
/** Small bodies have room of their own: whoever announces large ones and dawdles does not keep them out. */
const largestSmall = 64 * 1024;
/**
 * In bytes, what is received and saved at once, of all and of one agent; more is refused, so that many agents do not
 * fill the memory, and one of them does not keep the others from saving. One body of the largest size always fits.
 */
const rooms = {
  large: { ofAll: 4 * largestBody, ofAgent: largestBody },
  small: { ofAll: largestBody, ofAgent: mebibyte },
};

const tooLarge = `at most ${largestBody / mebibyte} MiB in one request, and ${stateLimits.bytes / mebibyte} MiB for a state; keep large data in the workspace, and in the state only what refers to it`;

interface CheckpointParts extends Pick<WhoMayParts, "noteRefusedSpeaker"> {
  readonly checkpoints: Pick<Checkpoints, "save" | "list" | "show" | "verify" | "noteRefused">;
  readonly holdsTask: HoldsTask;
  /** Whether there is such a task, or an agent that says it works on it. */
  readonly knowsTask: (taskId: string) => boolean;
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

  /** A name that nobody knows is a typing mistake. An agent may ask about its task before anybody else knows of it. */
  const refuseUnknown = async (agent: AgentSpeaker | null, taskId: string): Promise<void> => {
    if (agent !== null || parts.knowsTask(taskId)) return;
    // A list is also empty at the end of a chain, and where no head can be read.
    if ((await checkpoints.verify(taskId)).checks.length > 0) return;
    throw new Fault("task-unknown", "neither a task nor a checkpoint of that name is known; `rouse tasks` lists tasks");
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
      faults: ["task-unknown"],
      async run({ id, query, agent }) {
        speakerOf(agent, id);
        const list = await checkpoints.list(id, query.limit, query.cursor);
        if (list.checkpoints.length === 0) await refuseUnknown(agent, id);
        return list;
      },
    }),
    get("/api/v1/tasks/{id}/checkpoints/verify", {
      who: readersAnd("any"),
      id: "verifyCheckpoints",
      about: "Every hash of the chain worked out again",
      answer: { 200: CheckpointVerdict },
      faults: ["task-unknown"],
      async run({ id, agent }) {
        speakerOf(agent, id);
        const verdict = await checkpoints.verify(id);
        if (verdict.checks.length === 0) await refuseUnknown(agent, id);
        return verdict;
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

/** Counts each body, as large as it says it is, until it is saved, also when its client has disconnected. */
function boundBodies() {
  /** In bytes, by the kind of room and whose they are. */
  const held = new Map<string, number>();
  const saves = new WeakMap<IncomingMessage, Promise<unknown>>();
  const add = (keys: readonly string[], bytes: number): void => {
    for (const key of keys) {
      const after = (held.get(key) ?? 0) + bytes;
      if (after === 0) held.delete(key);
      else held.set(key, after);
    }
  };
  return {
    begin(request: IncomingMessage, response: ServerResponse, agentId: string | null): void {
      const announced = Number(request.headers["content-length"] ?? largestBody);
      const counted = Math.min(Math.max(announced, leastCounted), largestBody);
      const room = counted > largestSmall ? "large" : "small";
      const { ofAll, ofAgent } = rooms[room];
      const [all, own] = [`${room} of all`, `${room} of agent ${agentId}`];
      const isFull = (key: string, most: number): boolean => (held.get(key) ?? 0) + counted > most;
      if (isFull(all, ofAll) || (agentId !== null && isFull(own, ofAgent)))
        throw new Fault("store-unavailable", "many checkpoints are being saved; send it again in a moment", {
          retryable: true,
        });
      const keys = agentId === null ? [all] : [all, own];
      add(keys, counted);
      const letGo = (): void => add(keys, -counted);
      response.once("close", () => void Promise.resolve(saves.get(request)).then(letGo, letGo));
    },
    holds<T>(request: IncomingMessage, saving: Promise<T>): Promise<T> {
      saves.set(request, saving);
      return saving;
    },
  };
}
