import { AgentId, Fault, type StepsAck } from "@rouse/contract";
import type { Config } from "../config/read-config.ts";
import type { Keep } from "./answer-once.ts";
import type { GroupCommit } from "./group-commit.ts";
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

/** `life`: the incarnation that speaks, where its token says so. `keep`: of a request that may be sent again, how much of it was taken. */
export type HearSteps = (
  agentId: string,
  sent: readonly unknown[],
  life: number | null,
  keep?: Keep,
) => Promise<StepsAck>;

/** Takes what an agent tells of its steps, and answers once it is saved. */
export function hearSteps({ roster, turns, commits, readClock, config, eachSlice }: HearingParts): HearSteps {
  return async (agentId, sent, life, keep) => {
    refuseName(agentId);
    const subject = roster.find(agentId)?.record ?? { agentId, agentType: null, taskId: null };
    const keepsText = config().settingsFor(subject).loops.keep_text;
    const takenBefore = typeof keep?.before === "number" ? keep.before : 0;
    const ack: StepsAck = { accepted: 0, rejected: [] };
    await eachSlice(sent, (slice, from) => {
      const down = commits.down();
      if (down !== null) throw down;
      const { events, rejected } = readSteps(slice, keepsText, from);
      ack.accepted += events.length;
      ack.rejected.push(...rejected);
      const again = Math.min(Math.max(0, takenBefore - from), slice.length);
      const news = again === 0 ? events : readSteps(slice.slice(again), keepsText, from + again).events;
      if (news.length > 0) turns.takeSteps(agentId, news, life, readClock());
      if (news.length > 0) keep?.progress(from + slice.length);
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
