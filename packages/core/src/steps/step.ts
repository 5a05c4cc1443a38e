import type { DurationMs, MonoMs, ToolClass } from "@rouse/contract";
import { emptyMemory, type Memory } from "./remember-digests.ts";

/** One thing an agent did: a call with its result. Digests only. `null` is unknown, and unknown never equals unknown. */
export interface Step {
  /** Which event of the run completed it, counted from 0. */
  readonly event: number;
  readonly tool: string;
  readonly class: ToolClass;
  readonly args: string | null;
  readonly result: string | null;
  /** The result with everything particular masked. */
  readonly resultClass: string | null;
  readonly failed: boolean | null;
  /** This call, this result had not been seen before in the run. */
  readonly novelCall: boolean;
  readonly novelResult: boolean;
  /** Ran side by side with the step before it: siblings of one failure fail together. */
  readonly sibling: boolean;
  /** When its result came, and how long after the call; absent in what an earlier version saved. */
  readonly at?: MonoMs;
  readonly took?: DurationMs | null;
}

export interface OpenCall {
  readonly id: string | null;
  readonly tool: string;
  readonly args: string | null;
  readonly event: number;
  readonly at?: MonoMs;
}

/** A reply of the agent that called no tool. */
export interface Reply {
  readonly event: number;
  readonly text: string | null;
  readonly textClass: string | null;
}

/** Whose turn it is to produce the next event. After somebody's word it may be the model's, or nobody's: people interrupt and leave. */
export type Owner = "model" | "tool" | "person" | "provider" | "unsure";

/** What is remembered of a run: bounded, however long it gets. */
export interface StepTrail {
  readonly events: number;
  /** Detectors look at nothing before this event. */
  readonly windowFrom: number;
  /** With which event its turn began, where the end of turns is told; absent in what an earlier version saved. */
  readonly turnFrom?: number;
  readonly owner: Owner;
  /** The last steps of work. Lists, plans and thoughts are neither work nor standstill, and polling is waiting: they are left out. */
  readonly steps: readonly Step[];
  /** The last step of whatever kind. */
  readonly lastStep: Step | null;
  readonly open: readonly OpenCall[];
  /** Replies since the last call, or since a person spoke; oldest first. */
  readonly replies: readonly Reply[];
  /** The agent's last messages since it did something new, whether or not others spoke in between. */
  readonly said: readonly Reply[];
  readonly lastHeard: string | null;
  readonly seenCalls: Memory;
  readonly seenResults: Memory;
  readonly tokens: number | null;
  /** Tokens when the last new fact came. */
  readonly tokensAtNews: number | null;
  /** Errors of the provider in a row, and since when. */
  readonly apiErrors: { readonly times: number; readonly since: MonoMs } | null;
}

/** One and the same, so that "still nothing" is seen without looking inside. */
export const noReplies: readonly Reply[] = [];

export const newTrail: StepTrail = {
  events: 0,
  windowFrom: 0,
  turnFrom: 0,
  owner: "unsure",
  steps: [],
  lastStep: null,
  open: [],
  replies: noReplies,
  said: noReplies,
  lastHeard: null,
  seenCalls: emptyMemory,
  seenResults: emptyMemory,
  tokens: null,
  tokensAtNews: null,
  apiErrors: null,
};

/** What came before no longer counts: somebody told the agent to do otherwise, and it gets the whole patience again. What it has seen it still knows. */
export const startAnew = (trail: StepTrail): StepTrail => ({ ...trail, windowFrom: trail.events });
