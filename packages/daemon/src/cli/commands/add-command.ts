import { type DurationMs, parseDuration } from "@rouse/contract";
import { type Command, InvalidArgumentError } from "commander";
import type { Surroundings } from "../surroundings.ts";
import type { Line } from "../text/styled-text.ts";

/** Adds one command. It calls `finish` when it did what it was asked and still has something to tell a script. */
export type AddCommand = (program: Command, here: Surroundings, finish: (code: number) => void) => void;

export interface Json {
  readonly json?: true;
}

/** Arguments for `option`. */
export const jsonOption = ["--json", "print one JSON document"] as const;
export const reasonOption = ["--reason <text>", "for the record"] as const;

/** Prints an answer: one JSON document for a program, lines for a person. */
export function tell(here: Surroundings, { json }: Json, document: unknown, lines: () => readonly Line[]): void {
  if (json) here.printJson(document);
  else here.print(lines());
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** Only those fields that have a value: a request says nothing about the others. */
export const given = <T extends object>(fields: T): Given<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;

/** Reads a whole number within limits, for an option. */
export function readWhole(least: number, most: number): (text: string) => number {
  const limit = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`;
  return (text) => {
    const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Expected a whole number, ${limit}.`);
  };
}

/** Reads a duration for an option. `expected` says which are accepted: "a duration such as 30m, at most 1h". */
export function readDuration(
  expected: string,
  isAccepted: (duration: DurationMs) => boolean,
): (text: string) => DurationMs {
  return (text) => {
    const duration = parseDuration(text);
    if (duration !== null && isAccepted(duration)) return duration;
    throw new InvalidArgumentError(`Expected ${expected}.`);
  };
}
