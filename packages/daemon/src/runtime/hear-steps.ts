import { AgentId, Fault, type StepsAck } from "@rouse/contract";
import type { Config } from "../config/read-config.ts";
import type { GroupCommit } from "./group-commit.ts";
import { policySubject } from "./policy-subject.ts";
import { readSteps } from "./read-steps.ts";
import type { Roster } from "./roster.ts";
import type { Moment } from "./steady-clock.ts";
import type { EachSlice } from "./take-in-slices.ts";
import type { Turns } from "./turns.ts";

interface HearingParts {
  readonly roster: Roster;
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
  readonly config: () => Config;
  readonly eachSlice: EachSlice;
}

/** `life`: the incarnation that speaks, where its token says so. */
export type HearSteps = (agentId: string, sent: readonly unknown[], life: number | null) => Promise<StepsAck>;

/** Takes what an agent tells of its steps, and answers once it is saved. */
export function hearSteps({ roster, turns, commits, readClock, config, eachSlice }: HearingParts): HearSteps {
  return async (agentId, sent, life) => {
    refuseName(agentId);
    const known = roster.find(agentId)?.record;
    const subject = known === undefined ? { agentId, agentType: null, taskId: null } : policySubject(known);
    const keepsText = config().settingsFor(subject).loops.keep_text;
    const ack: StepsAck = { accepted: 0, rejected: [] };
    await eachSlice(sent, (slice, from) => {
      const down = commits.down();
      if (down !== null) throw down;
      const { events, rejected } = readSteps(slice, keepsText, from);
      ack.accepted += events.length;
      ack.rejected.push(...rejected);
      if (events.length > 0) turns.takeSteps(agentId, events, life, readClock());
    });
    if (ack.accepted > 0) await commits.saved();
    return ack;
  };
}

function refuseName(agentId: string): void {
  if (agentId.startsWith("rouse."))
    throw new Fault("forbidden", "names that begin with `rouse.` are the monitor's own");
  if (!AgentId.safeParse(agentId).success)
    throw new Fault("bad-request", "an agent's id takes 1 to 128 letters, digits or . _ : @ + -");
}
