import { printable } from "@rouse/contract";
import { z } from "zod";
import type { Recording } from "./find-recordings.ts";
import { describeReadError } from "./find-recordings.ts";
import type { Problems } from "./note-problems.ts";
import { readLines } from "./read-lines.ts";

/** What a person says about a run. `transient`: it repeated itself and moved on. */
export const Label = z.object({
  trace: z.string().min(1),
  label: z.enum(["stuck", "transient", "not_stuck"]),
  kind: z.string().nullish(),
  why: z.string().nullish(),
});
export type Label = z.infer<typeof Label>;

/** By the name of the run. A label that cannot be read is noted and left out. */
export async function readLabels({ name, open }: Recording, problems: Problems): Promise<ReadonlyMap<string, Label>> {
  const labels = new Map<string, Label>();
  const refuse = (line: number | null, message: string) =>
    problems.note({ kind: "bad-label", file: name, line, message });
  try {
    for await (const { number, text } of readLines(open())) {
      if (text?.trim() === "") continue;
      const label = text === null ? null : parse(text);
      if (label === null) refuse(number, `is no label: ${printable(text ?? "too long", 60)}`);
      else if (labels.has(label.trace)) refuse(number, `labels ${label.trace} a second time; the first counts`);
      else labels.set(label.trace, label);
    }
  } catch (error) {
    refuse(null, describeReadError(error));
  }
  return labels;
}

function parse(text: string): Label | null {
  try {
    return Label.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
