import { Fault } from "@rouse/contract";
import type { FastifyError, FastifyInstance } from "fastify";

import type { Monitor } from "../monitor.ts";
import { mostSteps } from "../steps/recall-steps.ts";
import { type AgentOf, readLimit } from "./agents.ts";

import { parseJson } from "./parse-json.ts";

const largestBody = 4 * 1024 * 1024;
const mostEvents = 10_000;

type Query = Record<string, string | undefined>;

/** A body of one event per line. */
class Lines {
  readonly events: readonly unknown[];

  constructor(text: string) {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    // Too many are refused by their number alone.
    this.events = lines.length > mostEvents ? lines : lines.map(parseLine);
  }
}

/** One broken line does not spoil the others: it is answered as the event it failed to be. */
function parseLine(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return null;
  }
}

/** What agents tell of their steps, and what is kept of it. */
export function addStepRoutes(app: FastifyInstance, monitor: Monitor, agentOf: AgentOf): void {
  app.addContentTypeParser(["application/x-ndjson", "application/ndjson"], { parseAs: "string" }, (_, body, done) =>
    done(null, new Lines(String(body))),
  );
  app.post<{ Params: { id: string } }>(
    "/api/v1/agents/:id/steps",
    { bodyLimit: largestBody, errorHandler: nameLimit },
    async (request, reply) => {
      const { sent, many } = readBody(request.body);
      if (sent.length > mostEvents) throw new Fault("body-too-large", `at most ${mostEvents} events in one request`);
      const ack = await monitor.takeSteps(request.params.id, sent, agentOf(request.raw)?.incarnation ?? null);
      return reply.code(!many && ack.accepted === 0 ? 400 : 200).send(ack);
    },
  );
  app.get<{ Params: { id: string }; Querystring: Query }>("/api/v1/agents/:id/steps", (request) => {
    const { limit, after, before } = request.query;
    return monitor.steps(request.params.id, {
      limit: readLimit(limit, 1000, mostSteps),
      ...(after === undefined ? {} : { after }),
      ...(before === undefined ? {} : { before }),
    });
  });
}

function readBody(body: unknown): { sent: readonly unknown[]; many: boolean } {
  if (body instanceof Lines) return { sent: body.events, many: true };
  return Array.isArray(body) ? { sent: body, many: true } : { sent: [body], many: false };
}

/** This route takes more than the others; whoever sends still more is told the right number. */
function nameLimit(error: FastifyError): never {
  if (error.statusCode !== 413) throw error;
  throw new Fault("body-too-large", `at most ${largestBody / 1024 / 1024} MiB in one request`, { cause: error });
}
