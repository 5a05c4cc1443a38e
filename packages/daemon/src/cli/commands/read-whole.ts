import { InvalidArgumentError } from "commander";

/** Reads a whole number within limits, for an option. */
export function readWhole(least: number, most: number): (text: string) => number {
  const limit = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`;
  return (text) => {
    const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Expected a whole number, ${limit}.`);
  };
}
