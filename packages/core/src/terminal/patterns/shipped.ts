import type { PatternKind } from "@rouse/contract";

/**
 * A pattern as plain data, for one line. Those for rate limits, errors, context limits and files see the line without the bullets and
 * borders a program draws before it, so `^` is where its words begin. Each expression is linear: anchored or begun by a fixed
 * word, every repetition bounded or unable to overlap what follows.
 */
export interface ShippedPattern {
  readonly kind: PatternKind;
  readonly name: string;
  readonly pattern: RegExp;
  /** Counts only where the cursor stands: elsewhere it is a question that was asked long ago, or text about one. */
  readonly atCursor?: true;
  /** Counts only below a row like this: a menu without its question is somebody's list. */
  readonly under?: RegExp;
  /** The words are on the next line that is not indented; this one only says that they follow. */
  readonly tellsNext?: true;
}

export interface ShippedFamily {
  /** No pattern for lines matches where this does not: most lines are looked at once, not once per pattern. */
  readonly hint: RegExp;
  readonly patterns: readonly ShippedPattern[];
}
