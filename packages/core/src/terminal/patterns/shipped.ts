import type { PatternKind, Question, Sight } from "@rouse/contract";

/** The quota is used up, requests come too often, or the provider is overloaded. */
type LimitKind = NonNullable<Extract<Sight, { kind: "rate-limited" }>["what"]>;

/**
 * A pattern for one line, as plain data. Those for rate limits, errors, context limits and files see the line without
 * the program's bullets and borders, so `^` is where the words begin. Each expression is linear: anchored or begun by a
 * fixed word, every repetition bounded or unable to overlap what follows.
 */
export interface ShippedPattern {
  readonly kind: PatternKind;
  readonly name: string;
  readonly pattern: RegExp;
  /** What a person is needed for, where that is more than its kind. */
  readonly what?: Question;
  /** The kind of limit. */
  readonly limit?: LimitKind;
  /** The program says that it goes on by itself. */
  readonly continues?: true;
  /** Counts only at the cursor: elsewhere it is an old question, or text about one. */
  readonly atCursor?: true;
  /** Counts only below a row like this: a menu without its question is somebody's list. */
  readonly under?: RegExp;
  /** Does not count when such a row lies between the two: then the question has been passed. */
  readonly unless?: RegExp;
  /** Does not count right above a row like this. */
  readonly notOver?: RegExp;
  /** The words follow on the next line that is not indented. */
  readonly tellsNext?: true;
}

export interface ShippedFamily {
  /** Where this does not match, no pattern of the family does: most lines are tested once, not once per pattern. */
  readonly hint: RegExp;
  readonly patterns: readonly ShippedPattern[];
}

/** Patterns of one kind by their names, with what they have in common. */
export const patternsOf = (
  kind: PatternKind,
  byName: Readonly<Record<string, RegExp>>,
  common: Omit<ShippedPattern, "kind" | "name" | "pattern"> = {},
): readonly ShippedPattern[] => Object.entries(byName).map(([name, pattern]) => ({ kind, name, pattern, ...common }));
