import { type EpochMs, printable, type SpeechRefusal } from "@rouse/contract";
import type { NewAuditLine } from "../audit/audit-trail.ts";
import type { SharedServices } from "../shared-services.ts";

/** Who gives an order: `actor` is who authenticated, `as` the name that came with the request. */
export interface By {
  readonly actor: string;
  readonly as?: string | undefined;
}

/** A request, its `actor` replaced by who authenticated. */
export type Given<Request> = Omit<Request, "actor"> & By;

export function givenBy<Request extends { readonly actor?: string | undefined }>(
  actor: string,
  { actor: as, ...request }: Request,
): Given<Request> {
  return { ...request, actor, ...(as === undefined ? {} : { as }) };
}

export interface GivenOrder extends By {
  /** What to do, such as `restart`. */
  readonly order: string;
  /** The agent or task it is about. */
  readonly subject: string;
  readonly reason: string;
  readonly evidence?: NewAuditLine["evidence"];
}

/** The audit line of an order. Its outcome is a line of its own. */
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

/** The audit line that says that an order was refused. */
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

/**
 * Counts by key, and says how often a key came: only the first, second, fourth, eighth … time, otherwise `null`. Of too
 * many keys, the one that came longest ago is forgotten.
 */
export function countAtDoublings(mostKeys: number): (key: string) => number | null {
  const counts = new Map<string, number>();
  return (key) => {
    const times = (counts.get(key) ?? 0) + 1;
    counts.delete(key);
    if (counts.size >= mostKeys) counts.delete(counts.keys().next().value as string);
    counts.set(key, times);
    return (times & (times - 1)) === 0 ? times : null;
  };
}

export interface RefusedSpeaker {
  /** Whose token it was. */
  readonly agentId: string;
  readonly claimed: string;
  readonly because: SpeechRefusal;
}

/** Records what was refused at the door. */
export function noteRefusals({ engine, commits, readClock }: Pick<SharedServices, "engine" | "commits" | "readClock">) {
  const count = countAtDoublings(10_000);

  function addToTrail(line: Pick<NewAuditLine, "actor" | "action" | "subject" | "reason" | "evidence">): void {
    engine.addToTrail({ ...line, time: readClock().time, policy: null });
    commits.schedule();
  }

  return {
    noteRefusedConfig(problems: string[]): void {
      engine.saveEvents([{ type: "CONFIG_REFUSED", payload: { problems } }], readClock().time, null);
      commits.schedule();
    },
    noteRefusedSpeaker({ agentId, claimed, because }: RefusedSpeaker): void {
      if (count(`${agentId} ${because}`) === null) return;
      const payload = { agentId, claimed: printable(claimed, 127), because };
      engine.saveEvents([{ type: "AGENT_SPEECH_REFUSED", payload }], readClock().time, agentId);
      commits.schedule();
    },
    noteRefusedRole(principal: string, asked: string): void {
      const times = count(`${principal} ${asked}`);
      if (times === null) return;
      const refused = { action: "request-refused", subject: null, reason: "not-for-this-role" };
      addToTrail({ actor: principal, ...refused, evidence: { asked, times } });
    },
    noteBadSignature(escalation: string, because: string): void {
      const refused = { action: "decision-refused", subject: escalation, reason: because };
      addToTrail({ actor: "unknown", ...refused, evidence: { because } });
    },
  };
}
