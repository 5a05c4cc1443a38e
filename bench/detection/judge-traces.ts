import { type Policy, policyFrom, settingsOf } from "@rouse/contract";
import { replayRun, type Verdict } from "../../packages/daemon/src/replay/replay-run.ts";
import { followRun } from "./cost.ts";
import type { SourceRun } from "./read-traces.ts";
import { geminiRule, openHandsRule } from "./reference-rules.ts";

/** One run as everybody judges it. */
export interface Judged {
  readonly trace: string;
  readonly source: string;
  readonly verdict: Verdict;
  /** Its last event still belonged to a suspected loop: it ended, or was ended, before it could become a verdict. */
  readonly endedLooping: boolean;
  readonly openHands: boolean;
  readonly gemini: boolean;
}

export const judges = ["ours", "ours, or ended looping", "OpenHands rule", "Gemini CLI rule"] as const;
export type Judge = (typeof judges)[number];

export const defaultPolicy: Policy = policyFrom("default", settingsOf("default"));

/** Thresholds were developed on these; what they say about the others was only looked at. */
const developmentSources: ReadonlySet<string> = new Set(["sweagent_multiswe", "claude_entire"]);
export const isDevelopment = ({ source }: { source: string }): boolean => developmentSources.has(source);

export const judgeRuns = (runs: readonly SourceRun[]): readonly Judged[] =>
  runs.map((run) => {
    const { verdict } = replayRun(run, defaultPolicy);
    return {
      trace: run.trace,
      source: run.source,
      verdict,
      endedLooping: followRun(run.events, defaultPolicy.loops).atEnd.length > 0,
      openHands: openHandsRule.firstAlarm(run.events) !== null,
      gemini: geminiRule.firstAlarm(run.events) !== null,
    };
  });

export const isAlarm = ({ verdict }: Judged): boolean => verdict === "stuck" || verdict === "failing";

/** The runs that a judge calls stuck. */
export function alarmsOf(judge: Judge, judged: readonly Judged[]): ReadonlySet<string> {
  const calls: Readonly<Record<Judge, (one: Judged) => boolean>> = {
    ours: isAlarm,
    "ours, or ended looping": (one) => isAlarm(one) || one.endedLooping,
    "OpenHands rule": ({ openHands }) => openHands,
    "Gemini CLI rule": ({ gemini }) => gemini,
  };
  return new Set(judged.filter(calls[judge]).map(({ trace }) => trace));
}
