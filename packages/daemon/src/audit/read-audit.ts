import { type AuditRecord, toIso } from "@rouse/contract";
import type { Moment } from "../engine/steady-clock.ts";
import type { SigningKey } from "../home/signing-key.ts";
import type { AuditPlace, AuditQuery, Store } from "../ports/store.ts";
import { headText } from "./audit-trail.ts";
import type { AuditEnds } from "./check-seals.ts";

/** Where the trail ends, signed, and which anchors hold it. */
interface AuditHead extends AuditEnds {
  /** PEM. */
  readonly publicKey: string;
  /** The configured anchors; webhooks without their paths. */
  readonly anchors: readonly string[];
}

/** What clients may see of the audit trail. */
export interface AuditReader {
  read(query: AuditQuery): Promise<AuditRecord[]>;
  head(): AuditHead;
}

interface ReadingParts {
  readonly store: Pick<Store, "readAudit">;
  readonly signing: SigningKey;
  /** The id the trail is sealed under. */
  readonly storeId: string;
  /** The last line that was saved. From memory, because the database may have been tampered with. */
  readonly end: () => AuditPlace | null;
  readonly anchors: () => readonly string[];
  readonly readClock: () => Pick<Moment, "time">;
}

export function readAuditOf({ store, signing, storeId, end, anchors, readClock }: ReadingParts): AuditReader {
  return {
    read: (query) => store.readAudit(query),
    head() {
      const last = end();
      const head = last === null ? null : { number: last.number, hash: last.hash };
      const time = toIso(readClock().time);
      const told = head === null ? null : { time, signature: signing.sign(headText(storeId, head, time)) };
      return { store: storeId, head, told, removed: null, publicKey: signing.publicKey, anchors: anchors() };
    },
  };
}
