import type { MonoMs, ToolClass } from "@rouse/contract";
import { emptyMemory, type Memory } from "./remember-digests.ts";

/**
 * One thing an agent did: a call with its result, or a reply without a call. Digests only. `null` is unknown, and unknown never equals unknown.
 */
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
  /** Neither this call nor this result had been seen before in the run. */
  readonly novelCall: boolean;
  readonly novelResult: boolean;
  /** Issued together with the step before it: siblings of one failure fail together. */
  readonly sibling: boolean;
}

export interface OpenCall {
  readonly id: string | null;
  readonly tool: string;
  readonly args: string | null;
  readonly event: number;
  readonly batch: number;
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
  readonly owner: Owner;
  readonly steps: readonly Step[];
  readonly open: readonly OpenCall[];
  readonly batch: number;
  /** Replies since the last call, or since a person spoke; oldest first. */
  readonly replies: readonly Reply[];
  /** The agent's last messages, whether or not others spoke in between. */
  readonly said: readonly Reply[];
  readonly lastHeard: string | null;
  readonly seenCalls: Memory;
  readonly seenResults: Memory;
  /** Tokens when the last new fact came. */
  readonly tokens: number | null;
  readonly tokensAtNews: number | null;
  /** Errors of the provider in a row, and since when. */
  readonly apiErrors: { readonly times: number; readonly since: MonoMs } | null;
}

export const newTrail: StepTrail = {
  events: 0,
  owner: "unsure",
  steps: [],
  open: [],
  batch: 0,
  replies: [],
  said: [],
  lastHeard: null,
  seenCalls: emptyMemory,
  seenResults: emptyMemory,
  tokens: null,
  tokensAtNews: null,
  apiErrors: null,
};
