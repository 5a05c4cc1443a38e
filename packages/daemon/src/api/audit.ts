import { AuditHead, AuditList } from "@rouse/contract";
import type { AuditReader } from "../audit/read-audit.ts";
import { limit, type Route, readers, route, text, wholeNumber } from "./route.ts";

export function auditRoutes(audit: AuditReader): Route[] {
  return [
    route({
      method: "GET",
      path: "/api/v1/audit",
      who: readers,
      id: "listAudit",
      about: "What was done and refused, by whom and why",
      request: {
        query: {
          after: wholeNumber("only lines with a larger number, from the oldest on", "the number of a line"),
          limit: limit(100, 1000),
          agentId: text("only about this agent or task"),
        },
      },
      answer: { 200: AuditList },
      async run({ query: { after, limit, agentId } }) {
        const entries = await audit.read({
          limit,
          newestFirst: after === undefined,
          ...(after === undefined ? {} : { after }),
          ...(agentId === undefined ? {} : { subject: agentId }),
        });
        return { entries: after === undefined ? entries.reverse() : entries };
      },
    }),
    route({
      method: "GET",
      path: "/api/v1/audit/head",
      who: readers,
      id: "getAuditHead",
      about: "Where the trail ends, signed, where its seals are kept, and the key to check with",
      answer: { 200: AuditHead },
      run: () => audit.head(),
    }),
  ];
}
