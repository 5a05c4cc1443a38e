import type { AuditRecord } from "@rouse/contract";
import { type AuditQuery, auditAnchorMark, auditHeadMark, type Store } from "../ports/store.ts";
import { readPlace } from "./audit-trail.ts";
import type { AuditEnds } from "./verify-audit.ts";

/** What others may see of the audit trail. */
export interface AuditReader {
  read(query: AuditQuery): Promise<AuditRecord[]>;
  head(): Promise<AuditEnds>;
  /** PEM. */
  readonly publicKey: string;
}

export function readAuditOf(store: Store, publicKey: string): AuditReader {
  return {
    publicKey,
    read: (query) => store.readAudit(query),
    async head() {
      const [head, anchor] = await Promise.all([store.readMark(auditHeadMark), store.readMark(auditAnchorMark)]);
      return { head: readPlace(head), anchor: readPlace(anchor) };
    },
  };
}
