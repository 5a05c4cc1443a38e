import type { AuditRecord } from "@rouse/contract";
import { type Action, type AgentRecord, readRecord } from "@rouse/core";
import { hashOfLine, isSignedBy, readPublicKey, sealedText } from "../audit/audit-trail.ts";
import type { Resumption, SavedRecord, Store } from "../ports/store.ts";

/** An order is carried out within minutes: an open one is among the newest lines of its agent's trail. */
const linesToRead = 1000;

/** Agents with an open order to stop that is in the audit trail under our signature. Records alone could be forged. */
export type BackedOrders = ReadonlySet<string>;

export async function recallOrders(
  store: Store,
  resumption: Resumption,
  storeId: string,
  publicKey: string,
): Promise<BackedOrders> {
  const key = readPublicKey(publicKey);
  const isOurs = (line: AuditRecord): boolean =>
    key !== null &&
    line.signature !== null &&
    hashOfLine(line) === line.hash &&
    isSignedBy(key, sealedText(storeId, line), line.signature);
  const backed = new Set<string>();
  for (const record of resumption.records.filter(mayBeOrdered).map(({ record }) => readRecord(record))) {
    if (!hasOpenOrder(record)) continue;
    const lines = await store.readAudit({ subject: record.agentId, limit: linesToRead, newestFirst: true });
    if (lines.some((line) => isOrderOf(line, record) && isOurs(line))) backed.add(record.agentId);
  }
  return backed;
}

export const hasOpenOrder = ({ ending: { stop } }: AgentRecord): boolean =>
  stop?.cause === "ordered" && stop.outcome === null;

/** Saves parsing every record twice. */
const mayBeOrdered = ({ record }: SavedRecord): boolean => record.includes('"ordered"');

/** The order itself, or our own stop that a person took over. It names this life, so no old order can be used again. */
function isOrderOf(
  { action, actor, subject, evidence }: AuditRecord,
  { agentId, life: { incarnation }, ending: { stop } }: AgentRecord,
): boolean {
  if (!["order-stop", "order-restart", "termination-ordered"].includes(action)) return false;
  const ordered = evidence["key"];
  const isSameKey = typeof ordered === "string" && (stop?.key === ordered || stop?.key.startsWith(`${ordered}/again`));
  return isSameKey === true && subject === agentId && actor === stop?.actor && evidence["incarnation"] === incarnation;
}

/** A person's order that was in the outbox. Our own stops are decided anew. */
export const isOrdered = (action: Action): action is Extract<Action, { kind: "stop-agent" }> =>
  action.kind === "stop-agent" && !action.spends;
