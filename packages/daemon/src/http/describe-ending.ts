import { type EscalationEnding, printable } from "@rouse/contract";

/** One sentence for whoever came too late. The id was checked; names and reasons are somebody's own words and are made harmless. */
export function describeEnding(id: string, ended: EscalationEnding): string {
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
