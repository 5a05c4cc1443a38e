import { widthOf, wrapLine } from "./fit-text.ts";
import { type Line, styled } from "./styled-text.ts";

export type Fact = readonly [label: string, ...values: Line[]];

/** Labels on the left, values beside them, each value on lines of its own; what is too long goes on under its beginning. */
export function drawFacts(facts: readonly Fact[], width: number, indent = 0): Line[] {
  const column = indent + Math.max(0, ...facts.map(([label]) => widthOf(label))) + 2;
  const margin = " ".repeat(indent);
  return facts.flatMap(([label, ...values]) =>
    values.flatMap((value, index) => {
      const head = `${margin}${index === 0 ? label : ""}`.padEnd(column);
      return wrapLine([styled("dim", head), ...value], width, column);
    }),
  );
}
