import { type Action, refuseKill } from "@rouse/core";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { SelfDoubt } from "../engine/self-doubt.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { Roster } from "./roster.ts";

interface RecheckParts {
  readonly roster: Roster;
  readonly doubt: SelfDoubt;
  readonly config: () => Config;
  readonly readClock: () => Moment;
}

/** The kill gate once more, at the instant of the signal: between the decision and its being on disk anything may have happened, an outage of hours too. */
export function recheckGate({ roster, doubt, config, readClock }: RecheckParts) {
  return ({ agentId, key }: Extract<Action, { kind: "stop-agent" }>): boolean => {
    const record = roster.find(agentId)?.record;
    if (record?.ending.stop?.key !== key) return false;
    const { now } = readClock();
    // This very stop is charged already: that the budget is empty now argues against the next one.
    const against = { ...doubt.about(record, now), brake: null };
    return (
      refuseKill(
        record,
        { now, policy: config().policyFor(policySubject(record)), doubt: against },
        record.ending.stop.cause === "decided",
      ) === null
    );
  };
}
