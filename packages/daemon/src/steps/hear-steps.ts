import { AgentId, describeIssues, Fault, printable, StepEvent, type StepsAck } from "@rouse/contract";
import { digestEvent } from "@rouse/core";
import { policySubject } from "../config/choose-policy.ts";
import type { Keep } from "../engine/answer-once.ts";
import type { EachSlice } from "../engine/take-in-slices.ts";
import type { SharedServices } from "../shared-services.ts";

interface HearingParts extends Pick<SharedServices, "roster" | "agents" | "commits" | "readClock" | "config"> {
  readonly eachSlice: EachSlice;
}

/** `life`: the incarnation that speaks, where its token says so. `keep`: how much of a repeated request was taken. */
export type HearSteps = (
  agentId: string,
  sent: readonly unknown[],
  life: number | null,
  keep?: Keep,
) => Promise<StepsAck>;

/** Takes the steps that an agent reports, and answers once they are saved. */
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

const longestProblem = 300;

/**
 * Parses the steps that an agent reports, one by one; the first has the number `from`. What comes out holds digests,
 * and text only where the user wants it kept.
 */
export function readSteps(sent: readonly unknown[], keepsText: boolean, from = 0) {
  const events: StepEvent[] = [];
  const rejected: StepsAck["rejected"] = [];
  for (const [index, one] of sent.entries()) {
    const parsed = StepEvent.safeParse(one);
    if (parsed.success) events.push(digestEvent(parsed.data, keepsText));
    else
      rejected.push({
        index: from + index,
        problem: printable(describeIssues(parsed.error.issues, "step"), longestProblem),
      });
  }
  return { events, rejected };
}
