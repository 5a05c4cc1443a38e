import type { EpochMs, PatternKind, Sight } from "@rouse/contract";

/**
 * Reading a terminal: text in, sights out, nothing else. The holder runs this beside the agent, so that text stays there and only
 * what it means travels. Patterns come compiled: shipped ones are plain data known to be harmless, a user's run on an engine that takes
 * linear time whatever was written.
 */
export interface Pattern {
  readonly kind: PatternKind;
  readonly name: string;
  /** The match and its groups, or `null`. */
  find(line: string): readonly (string | undefined)[] | null;
}

/** The wall clock of the machine the text was written on: "resets 3pm" means its afternoon. */
export interface WallClock {
  readonly now: EpochMs;
  /** Minutes to add to UTC. */
  readonly utcOffset: number;
  /** The same at another moment, which may be in summer or winter; as now where it is not known. */
  readonly offsetAt?: (instant: EpochMs) => number;
}

/** What can be seen in a terminal right now. Rows without colours, trailing blanks removed. */
export interface Screen {
  readonly rows: readonly string[];
  readonly cursorRow: number;
  /** A full-screen program has taken over. */
  readonly alternate: boolean;
}

/** One step of reading: the state after it, and what was seen. */
export interface Reading<S> {
  readonly state: S;
  readonly sights: readonly Sight[];
}
