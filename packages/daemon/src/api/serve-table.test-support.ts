import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import type { RefusedSpeaker } from "../monitor.ts";
import type { Speaker } from "./guard.ts";
import type { Route } from "./route.ts";
import { serveRoutes } from "./serve-routes.ts";

export const ownerSpeaks: Speaker = { kind: "owner", name: null };

/** Lines of the table, served as the daemon serves them; who asks, the test says. An agent sees nobody but itself. */
export function serveTable(
  table: readonly Route[],
  { speakerOf = () => ownerSpeaks, refused = [] }: Partial<Served> = {},
): FastifyInstance {
  return serveRoutes(table, {
    speakerOf,
    maySee: () => false,
    noteRefusedSpeaker: (one) => void refused.push(one),
    noteRefusedRole: () => undefined,
    once: (_, run) => run({ before: null, answer: () => undefined, progress: () => undefined }),
    log: {
      error: (facts) => {
        throw new Error(JSON.stringify(facts));
      },
    },
  });
}

interface Served {
  readonly speakerOf: (request: IncomingMessage) => Speaker;
  /** What agents said that was not theirs to say. */
  readonly refused: RefusedSpeaker[];
}
