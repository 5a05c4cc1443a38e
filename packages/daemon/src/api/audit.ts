import { Fault } from "@rouse/contract";
import type { FastifyInstance } from "fastify";

import type { AuditReader } from "../audit/read-audit.ts";
import { readLimit } from "./agents.ts";

type Query = Record<string, string | undefined>;

/** The audit trail, for the operator alone: the guard lets no agent's token near it. */
export function addAuditRoutes(app: FastifyInstance, audit: AuditReader): void {
  app.get<{ Querystring: Query }>("/api/v1/audit", async (request) => {
    const { after, limit, agentId } = request.query;
    const from = readNumber(after);
    const entries = await audit.read({
      limit: readLimit(limit, 100),
      newestFirst: from === null,
      ...(from === null ? {} : { after: from }),
      ...(agentId === undefined ? {} : { subject: agentId }),
    });
    return { entries: from === null ? entries.reverse() : entries };
  });
  app.get("/api/v1/audit/head", async () => audit.head());
}

function readNumber(given: string | undefined): number | null {
  if (given === undefined) return null;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new Fault("bad-request", "after: the number of a line");
}
