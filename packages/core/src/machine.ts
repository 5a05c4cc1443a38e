import type { MonoMs } from "@rouse/contract";
import type { Told } from "./signal.ts";

/** For another machine: delivered after the step that wrote it, and saved in the same commit. */
export interface Letter {
  readonly machine: string;
  /** `null`: to the whole room of that machine, which finds the recipients. */
  readonly id: string | null;
  readonly signal: unknown;
}

/** The result of one step. */
export interface Stepped<R, A> extends Told {
  readonly record: R;
  /** For whoever waits for an answer. */
  readonly reply: A;
  readonly letters?: readonly Letter[];
}

/**
 * One kind of thing with a life: an agent, a task, an agent's standing, the kill budget. `step` is pure: the same
 * record, signal and context give the same step, live, simulated or replayed. `wakeAt`: the next moment that could
 * change something.
 */
export interface Machine<R, S, C, A> {
  readonly name: string;
  step(record: R, signal: S, context: C): Stepped<R, A>;
  wakeAt(record: R): MonoMs | null;
  /** Reads JSON, also of an earlier version. */
  restore(saved: string): R;
  serialise(record: R): string;
}
