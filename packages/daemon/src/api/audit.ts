import { AuditHead, AuditList } from "@rouse/contract";
import type { AuditReader } from "../audit/read-audit.ts";
import { cursor, get, limit, pageOf, type Route, readers, stretchOf, text, wholeNumber } from "./route.ts";

export function auditRoutes(audit: AuditReader): Route[] {
  return [
    get("/api/v1/audit", {
      who: readers,
      id: "listAudit",
      about: "What was done and refused, by whom and why: the newest lines, or those after one",
      request: {
        query: {
          after: wholeNumber("only lines with a larger number, from the oldest on", "the number of a line"),
          limit: limit(100, 1000),
          cursor,
          agentId: text("only about this agent or task"),
        },
      },
      answer: { 200: AuditList },
      async run({ query: { limit, agentId, ...where } }) {
        const found = await audit.read({ limit: limit + 1, ...stretchOf(where), subject: agentId });
        const { page, next } = pageOf(found, limit, ({ number }) => number);
        return { entries: where.after === undefined ? page.reverse() : page, next };
      },
    }),
    get("/api/v1/audit/head", {
      who: readers,
      id: "getAuditHead",
      about: "Where the trail ends, signed, where its seals are kept, and the key to check with",
      answer: { 200: AuditHead },
      run: () => audit.head(),
    }),
  ];
}
