import type { DurationMs, MonoMs, ToolClass } from "@rouse/contract";
import { emptyMemory, type Memory } from "./remember-digests.ts";

/** One call of an agent with its result, as digests. `null` is unknown, and unknown never equals unknown. */
export interface Step {
  /** The event of the run that completed it, counted from 0. */
  readonly event: number;
  readonly tool: string;
  readonly class: ToolClass;
  readonly args: string | null;
  readonly result: string | null;
  /** The result with numbers, ids and times masked. */
  readonly resultClass: string | null;
  readonly failed: boolean | null;
  /** Whether this call, this result was new in the run. */
  readonly novelCall: boolean;
  readonly novelResult: boolean;
  /** It ran side by side with the step before it: siblings fail together. */
  readonly sibling: boolean;
  /** When its result came, and how long after the call; absent in records of an earlier version. */
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

/** Who produces the next event. After a person's message it may be the model or nobody: people interrupt and leave. */
export type Owner = "model" | "tool" | "person" | "provider" | "unsure";

/** What is remembered of a run, in bounded space. */
export interface StepTrail {
  readonly events: number;
  /** Detectors look at nothing before this event. */
  readonly windowFrom: number;
  /** The event that began the turn, where the end of turns is told; absent in records of an earlier version. */
  readonly turnFrom?: number;
  readonly owner: Owner;
  /**
   * The last steps of work. Plans and thoughts are neither work nor standstill, and polling is waiting: both are left
   * out.
   */
  readonly steps: readonly Step[];
  /** The last step of any class. */
  readonly lastStep: Step | null;
  readonly open: readonly OpenCall[];
  /** Replies since the last call, or since a person spoke; oldest first. */
  readonly replies: readonly Reply[];
  /** The agent's messages since it did something new, also when others spoke in between. */
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

/** One shared value, so that "still none" is seen by comparing references. */
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

/**
 * Earlier steps no longer count: the agent was told to do otherwise and gets the whole patience again. Digests stay
 * known.
 */
export const startAnew = (trail: StepTrail): StepTrail => ({ ...trail, windowFrom: trail.events });
