import { type EpochMs, printable, type SpeechRefusal } from "@rouse/contract";
import type { Agents } from "../agents/host-agents.ts";
import type { NewAuditLine } from "../audit/audit-trail.ts";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";

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

/** Agents and reasons for which refused speech is counted; the one refused longest ago is forgotten first. */
const mostRefusalsCounted = 10_000;

export interface RefusedSpeaker {
  /** Whose token it was. */
  readonly agentId: string;
  readonly claimed: string;
  readonly because: SpeechRefusal;
}

interface NotingParts {
  readonly engine: Engine;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
}

/** What was refused at the door is not taken, but it is not forgotten either. */
export function noteRefusals({ engine, commits, readClock }: NotingParts) {
  const refusedSpeech = new Map<string, number>();

  function countSpeech(key: string): number {
    const times = (refusedSpeech.get(key) ?? 0) + 1;
    refusedSpeech.delete(key);
    if (refusedSpeech.size >= mostRefusalsCounted) refusedSpeech.delete(refusedSpeech.keys().next().value as string);
    refusedSpeech.set(key, times);
    return times;
  }

  return {
    noteRefusedConfig(problems: string[]): void {
      engine.saveEvents([{ type: "CONFIG_REFUSED", payload: { problems } }], readClock().time, null);
      commits.schedule();
    },
    noteRefusedSpeaker({ agentId, claimed, because }: RefusedSpeaker): void {
      const times = countSpeech(`${agentId} ${because}`);
      if ((times & (times - 1)) !== 0) return;
      const payload = { agentId, claimed: printable(claimed, 127), because };
      engine.saveEvents([{ type: "AGENT_SPEECH_REFUSED", payload }], readClock().time, agentId);
      commits.schedule();
    },
    noteRefusedRole(principal: string, asked: string): void {
      const times = countSpeech(`${principal} ${asked}`);
      if ((times & (times - 1)) !== 0) return;
      const { time } = readClock();
      const line = { time, actor: principal, action: "request-refused", subject: null, reason: "not-for-this-role" };
      engine.addToTrail({ ...line, evidence: { asked, times }, policy: null });
      commits.schedule();
    },
    noteBadSignature(escalation: string, because: string): void {
      const { time } = readClock();
      const line = { time, actor: "unknown", action: "decision-refused", subject: escalation, reason: because };
      engine.addToTrail({ ...line, evidence: { because }, policy: null });
      commits.schedule();
    },
  };
}
