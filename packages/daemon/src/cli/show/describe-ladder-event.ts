import type { ContainmentMeans, LostWork, RouseEvent } from "@rouse/contract";
import { inWords } from "../text/phrases.ts";
import { describeSeconds } from "../text/tell-time.ts";

/** What was done about an agent that is not well. */
type LadderEvent = Extract<
  RouseEvent,
  {
    type:
      | `INCIDENT_${string}`
      | `NUDGE_${string}`
      | `ESCALATION_${string}`
      | `RECOVERY_${string}`
      | `WORK_${string}`
      | "AGENT_ANSWERED"
      | "AGENT_CONTAINED"
      | "AGENT_NOT_CONTAINED"
      | "AGENT_LET_GO";
  }
>;

export const isOfLadder = (event: RouseEvent): event is LadderEvent =>
  /^(?:(?:INCIDENT|NUDGE|ESCALATION|RECOVERY|WORK)_|AGENT_(?:ANSWERED|CONTAINED|NOT_CONTAINED|LET_GO)$)/.test(
    event.type,
  );

export function describeLadderEvent(event: LadderEvent): string {
  switch (event.type) {
    case "INCIDENT_OPENED":
      return `${event.payload.severity} ${event.payload.illness}: ${inWords(event.payload.cause)}`;
    case "INCIDENT_CLOSED": {
      const { ending, because, lastedSeconds } = event.payload;
      return `${inWords(ending)} (${inWords(because)}) after ${describeSeconds(lastedSeconds)}`;
    }
    case "NUDGE_QUEUED":
      return `${attempt(event.payload.attempt)}by ${event.payload.actor}, ${event.payload.channel}: ${inWords(event.payload.template)}`;
    case "NUDGE_SENT":
      return `${attempt(event.payload.attempt)}${event.payload.channel}: ${event.payload.message.split("\n")[0] ?? ""}`;
    case "NUDGE_NOT_SENT":
      return `${event.payload.channel}: ${inWords(event.payload.because)}`;
    case "NUDGE_SEEN":
    case "NUDGE_ACTED":
      return event.payload.evidence;
    case "NUDGE_UNCONFIRMED":
      return event.payload.because === "only-screen"
        ? `typed, and whether it was read nobody can tell: only its screen is seen (${describeSeconds(event.payload.waitedSeconds)})`
        : `no sign of it in ${describeSeconds(event.payload.waitedSeconds)}`;
    case "AGENT_ANSWERED":
      return `${event.payload.answer.kind}${event.payload.answer.text === undefined ? "" : `: ${event.payload.answer.text}`}`;
    case "AGENT_CONTAINED":
      return `${heldBackBy[event.payload.how]} after ${event.payload.calls} more calls in circles`;
    case "AGENT_NOT_CONTAINED":
      return `${event.payload.how}: ${inWords(event.payload.because)}`;
    case "AGENT_LET_GO":
      return inWords(event.payload.because);
    case "WORK_SAVED":
      return event.payload.commit === null
        ? "nothing to save"
        : `${event.payload.changed} changed file${event.payload.changed === 1 ? "" : "s"} in ${event.payload.commit.slice(0, 12)}`;
    case "WORK_NOT_SAVED":
      return event.payload.problem;
    case "RECOVERY_INITIATED":
      return `${attempt(event.payload.attempt)}${event.payload.because}`;
    case "RECOVERY_COMPLETED":
      return describeRecovery(event.payload);
    case "RECOVERY_FAILED":
      return `${inWords(event.payload.reason)} after ${event.payload.attempts} attempt${event.payload.attempts === 1 ? "" : "s"}`;
    default:
      return describeEscalationEvent(event);
  }
}

export const heldBackBy: Readonly<Record<ContainmentMeans, string>> = {
  pause: "its tools are withheld",
  interrupt: "its turn was broken off",
};

const attempt = (n: number): string => (n === 0 ? "" : `attempt ${n}, `);

/** Where a new life goes on: after a step, with the conversation it had, or from the start. */
export function wordBeginning({ conversation }: LostWork, step: string | null): string {
  switch (conversation) {
    case "kept":
      return [step, "with its conversation"].filter((each) => each !== null).join(", ");
    case "lost":
      return `${step ?? "from the start"}, without its conversation`;
    case undefined:
      return step ?? "from the start";
  }
}

function describeRecovery({
  incarnation,
  fromCheckpoint,
  step,
  lost,
  tookSeconds,
}: Extract<LadderEvent, { type: "RECOVERY_COMPLETED" }>["payload"]): string {
  const from = wordBeginning(
    lost,
    fromCheckpoint === null ? null : `after step ${step} (${fromCheckpoint.slice(0, 12)})`,
  );
  const without =
    lost.checkpoints === 0 ? "" : `, without ${lost.checkpoints} newer checkpoint${lost.checkpoints === 1 ? "" : "s"}`;
  return `incarnation ${incarnation} goes on ${from}${without}, ${tookSeconds} s after the end of the last`;
}

function describeEscalationEvent(event: Extract<LadderEvent, { type: `ESCALATION_${string}` }>): string {
  switch (event.type) {
    case "ESCALATION_TRIGGERED": {
      const { escalation, severity, reason, answerWithinSeconds } = event.payload;
      return `${escalation} ${severity}: ${inWords(reason)}, answer within ${describeSeconds(answerWithinSeconds)}`;
    }
    case "ESCALATION_RAISED": {
      const { escalation, severity, criticalBlocked } = event.payload;
      return `${escalation} ${severity}: ${criticalBlocked} critical tasks need a person`;
    }
    case "ESCALATION_DECIDED":
      return `${event.payload.escalation}: ${inWords(event.payload.decision)} by ${event.payload.actor}: ${event.payload.reason}`;
    case "ESCALATION_ACKNOWLEDGED":
      return `${event.payload.escalation} by ${event.payload.actor}`;
    case "ESCALATION_UNACKNOWLEDGED":
    case "ESCALATION_UNANSWERED":
      return `${event.payload.escalation} for ${describeSeconds(event.payload.waitedSeconds)}`;
    case "ESCALATION_ANSWER_REFUSED":
      return `${event.payload.escalation}: a decision came back from the webhook that counts for nothing: ${inWords(event.payload.because)}`;
    case "ESCALATION_UNDELIVERED":
      return `${event.payload.escalation}: ${event.payload.problem}`;
  }
}
