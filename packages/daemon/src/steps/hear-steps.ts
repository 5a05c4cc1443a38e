import { AgentId, Fault, type StepsAck } from "@rouse/contract";
import type { Agents } from "../agents/host-agents.ts";
import type { Roster } from "../agents/roster.ts";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Keep } from "../engine/answer-once.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { EachSlice } from "../engine/take-in-slices.ts";
import { readSteps } from "./read-steps.ts";

interface HearingParts {
  readonly roster: Roster;
  readonly agents: Agents;
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
export function hearSteps({ roster, agents, commits, readClock, config, eachSlice }: HearingParts): HearSteps {
  return async (agentId, sent, life, keep) => {
    refuseName(agentId);
    const known = roster.find(agentId)?.record;
    const subject = known === undefined ? { agentId, agentType: null, taskId: null } : policySubject(known);
    const keepsText = config().settingsFor(subject).loops.keep_text;
    const takenBefore = typeof keep?.before === "number" ? keep.before : 0;
    const ack: StepsAck = { accepted: 0, rejected: [] };
    await eachSlice(sent, (slice, from) => {
      commits.refuseWhileDown();
      const { events, rejected } = readSteps(slice, keepsText, from);
      ack.accepted += events.length;
      ack.rejected.push(...rejected);
      const again = Math.min(Math.max(0, takenBefore - from), slice.length);
      const news = again === 0 ? events : readSteps(slice.slice(again), keepsText, from + again).events;
      if (news.length > 0) agents.takeSteps(agentId, news, life, readClock());
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
