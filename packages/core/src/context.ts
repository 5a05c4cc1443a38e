import type { MonoMs, Policy } from "@rouse/contract";
import type { Doubt } from "./doubt.ts";

/** What a signal is judged by: the moment it is judged at, the agent's policy, and what the monitor holds against itself. */
export interface Context {
  readonly now: MonoMs;
  readonly policy: Policy;
  readonly doubt: Doubt;
}
