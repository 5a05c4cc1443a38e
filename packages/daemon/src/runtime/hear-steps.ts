import { AgentId, Fault, type StepsAck } from "@rouse/contract";
import type { Config } from "../config/read-config.ts";
import type { GroupCommit } from "./group-commit.ts";
import { readSteps } from "./read-steps.ts";
import type { Roster } from "./roster.ts";
import type { Moment } from "./steady-clock.ts";
import type { Turns } from "./turns.ts";

interface HearingParts {
  readonly roster: Roster;
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
  readonly config: () => Config;
}

/** `life`: the incarnation that speaks, where its token says so. */
export type HearSteps = (agentId: string, sent: readonly unknown[], life: number | null) => Promise<StepsAck>;

/** Takes what an agent tells of its steps, and answers once it is saved. */
export function hearSteps({ roster, turns, commits, readClock, config }: HearingParts): HearSteps {
  return async (agentId, sent, life) => {
    refuseName(agentId);
    const down = commits.down();
    if (down !== null) throw down;
    const subject = roster.find(agentId)?.record ?? { agentId, agentType: null, taskId: null };
    const { events, rejected } = readSteps(sent, config().settingsFor(subject).loops.keep_text);
    if (events.length > 0) {
      turns.takeSteps(agentId, events, life, readClock());
      await commits.saved();
    }
    return { accepted: events.length, rejected };
  };
}

function refuseName(agentId: string): void {
  if (agentId.startsWith("rouse."))
    throw new Fault("forbidden", "names that begin with `rouse.` are the monitor's own");
  if (!AgentId.safeParse(agentId).success)
    throw new Fault("bad-request", "an agent's id takes 1 to 128 letters, digits or . _ : @ + -");
}
