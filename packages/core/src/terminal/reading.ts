import type { EpochMs, PatternKind, Sight } from "@rouse/contract";

/**
 * Reading a terminal: text in, sights out. The holder runs this beside the agent, so that text stays there and only its
 * meaning travels. Patterns come compiled: shipped ones are plain data and linear, a user's run on an engine with
 * linear time.
 */
export interface Pattern {
  readonly kind: PatternKind;
  readonly name: string;
  /** The match and its groups, or `null`. */
  find(line: string): readonly (string | undefined)[] | null;
}

/** The wall clock of the machine that the text was written on: "resets 3pm" means its afternoon. */
export interface WallClock {
  readonly now: EpochMs;
  /** Minutes to add to UTC. */
  readonly utcOffset: number;
  /** The offset at another moment, for daylight saving; absent: as now. */
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
