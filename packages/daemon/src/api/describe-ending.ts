import { type EscalationEnding, Fault, printable } from "@rouse/contract";

/** For whoever answers, or asks about, what does not wait for an answer. `null`: it was never asked. */
export const tooLate = (id: string, ended: EscalationEnding | null): Fault =>
  ended === null
    ? new Fault("escalation-unknown", "no such escalation; `rouse escalations` lists those that are open")
    : new Fault("escalation-closed", describeEnding(id, ended));

/** One sentence for whoever came too late. The id was checked; names and reasons are somebody's own words and are made harmless. */
function describeEnding(id: string, ended: EscalationEnding): string {
  switch (ended.how) {
    case "decided":
      return `${id} was decided at ${ended.at}: ${ended.decision}, by ${printable(ended.actor, 100)} (${printable(ended.reason, 200)})`;
    case "unanswered":
      return `${id} is over since ${ended.at}: nobody answered for ${ended.waitedSeconds} s, and Rouse went on`;
    case "incident-closed":
      return `${id} is over since ${ended.at}: the incident ended as ${ended.ending} (${ended.because})`;
    case "overtaken":
      return `${id} is over: the agent's state changed before anybody answered`;
  }
}
