import type { EpochMs } from "@rouse/contract";
import type { NewAuditLine } from "../audit/audit-trail.ts";

/** Who gives an order: `actor` is who authenticated, `as` whom they say they are. */
export interface By {
  readonly actor: string;
  readonly as?: string | undefined;
}

/** A request with whoever authenticated in place of the name that came with it. */
export type Given<Request> = Omit<Request, "actor"> & By;

/** The name that came with a request is kept beside who made it. */
export function givenBy<Request extends { readonly actor?: string | undefined }>(
  actor: string,
  { actor: as, ...request }: Request,
): Given<Request> {
  return { ...request, actor, ...(as === undefined ? {} : { as }) };
}

export interface GivenOrder extends By {
  /** What was wanted, such as `restart`. */
  readonly order: string;
  /** The agent or task it is about. */
  readonly subject: string;
  readonly reason: string;
  readonly evidence?: NewAuditLine["evidence"];
}

/** What somebody ordered, and why. What becomes of it is a line of its own. */
export const orderLine = (
  { order, subject, actor, as, reason, evidence = {} }: GivenOrder,
  time: EpochMs,
): NewAuditLine => ({
  time,
  actor,
  action: `order-${order}`,
  subject,
  reason,
  evidence: as === undefined ? evidence : { ...evidence, as },
  policy: null,
});

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
