import type { EpochMs } from "@rouse/contract";
import type { NewAuditLine } from "./audit-trail.ts";

export interface GivenOrder {
  /** What was wanted, such as `restart`. */
  readonly order: string;
  /** The agent or task it is about. */
  readonly subject: string;
  readonly actor: string;
  readonly reason: string;
  readonly evidence?: NewAuditLine["evidence"];
}

/** What somebody ordered, and why. What becomes of it is a line of its own. */
export const orderLine = (
  { order, subject, actor, reason, evidence = {} }: GivenOrder,
  time: EpochMs,
): NewAuditLine => ({ time, actor, action: `order-${order}`, subject, reason, evidence, policy: null });

/** An order that came to nothing must not look as if it had been obeyed. */
export const refusalLine = (
  { order, subject, evidence = {} }: GivenOrder,
  because: string,
  time: EpochMs,
): NewAuditLine => ({
  time,
  actor: "rouse",
  action: "order-refused",
  subject,
  reason: because,
  evidence: { order, ...evidence },
  policy: null,
});
