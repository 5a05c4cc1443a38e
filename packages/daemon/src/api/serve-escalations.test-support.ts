import { Fault } from "@rouse/contract";
import fastify, { type FastifyInstance } from "fastify";

import type { EscalationDesk } from "../escalations/escalation-desk.test-support.ts";
import { addEscalationRoutes, type EscalationDoor } from "./escalations.ts";

import { parseJson } from "./parse-json.ts";
import { statusOf, toProblem } from "./problem.ts";

/** The routes in surroundings like those of the daemon: JSON by the same parser, faults as the same problems. */
export function serveEscalations({ escalations }: EscalationDesk, door: EscalationDoor): FastifyInstance {
  const app = fastify({ forceCloseConnections: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_, body, done) => {
    try {
      done(null, body === "" ? undefined : parseJson(String(body)));
    } catch (error) {
      done(error as Error);
    }
  });
  app.setErrorHandler((error, _, reply) => {
    if (!(error instanceof Fault)) throw error;
    return reply.code(statusOf(error)).send(toProblem(error));
  });
  addEscalationRoutes(app, escalations, door);
  return app;
}
