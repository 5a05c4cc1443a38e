import type { PatternKind, Question, Sight } from "@rouse/contract";

/** Its quota is used up, it asks too often, the provider has too much to do. */
export type LimitKind = NonNullable<Extract<Sight, { kind: "rate-limited" }>["what"]>;

/**
 * A pattern as plain data, for one line. Those for rate limits, errors, context limits and files see the line without the bullets and
 * borders a program draws before it, so `^` is where its words begin. Each expression is linear: anchored or begun by a fixed
 * word, every repetition bounded or unable to overlap what follows.
 */
export interface ShippedPattern {
  readonly kind: PatternKind;
  readonly name: string;
  readonly pattern: RegExp;
  /** What a person is wanted for, where that is more than its kind says. */
  readonly what?: Question;
  /** Which limit it is. */
  readonly limit?: LimitKind;
  /** The program says with it that it goes on by itself. */
  readonly continues?: true;
  /** Counts only where the cursor stands: elsewhere it is a question that was asked long ago, or text about one. */
  readonly atCursor?: true;
  /** Counts only below a row like this: a menu without its question is somebody's list. */
  readonly under?: RegExp;
  /** Counts no more when such a row came between the two: what stood there has been passed. */
  readonly unless?: RegExp;
  /** Does not count right above a row like this. */
  readonly notOver?: RegExp;
  /** The words are on the next line that is not indented; this one only says that they follow. */
  readonly tellsNext?: true;
}

export interface ShippedFamily {
  /** No pattern for lines matches where this does not: most lines are looked at once, not once per pattern. */
  readonly hint: RegExp;
  readonly patterns: readonly ShippedPattern[];
}
