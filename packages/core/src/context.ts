import type { MonoMs, Policy } from "@rouse/contract";
import type { Doubt } from "./doubt.ts";

/** What a signal is judged by. */
export interface Context {
  readonly now: MonoMs;
  readonly policy: Policy;
  readonly doubt: Doubt;
}
