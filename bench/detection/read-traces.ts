import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { StepEvent } from "@rouse/contract";
import { readRecordedEvent } from "../../packages/daemon/src/replay/read-recorded-event.ts";
import type { RecordedRun } from "../../packages/daemon/src/replay/replay-run.ts";

/** Where the recorded runs lie, seen from the root of the repository. They are used from there and never copied. */
export const tracesFolder = resolve("..", "shared", "traces");

export interface SourceRun extends RecordedRun {
  readonly source: string;
}

type Label = "stuck" | "transient" | "not_stuck";

export interface LabelledRun {
  readonly trace: string;
  readonly label: Label;
  readonly kind: string;
}

export const areTracesThere = (folder = tracesFolder): boolean => existsSync(join(folder, "labels.jsonl"));

/** Every recorded run, in the order of its file. */
export function readTraces(folder = tracesFolder): readonly SourceRun[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl") && name !== "labels.jsonl");
  return files.toSorted().flatMap((name) => readRuns(join(folder, name)));
}

function readRuns(path: string): readonly SourceRun[] {
  const source = basename(path, ".jsonl");
  const byTrace = new Map<string, StepEvent[]>();
  for (const line of linesOf(path)) {
    const { trace, event } = readRecordedEvent(line);
    if (trace === null) throw new Error(`${path} holds a line that is no event: ${line.slice(0, 100)}`);
    const events = byTrace.get(trace) ?? [];
    events.push(event);
    byTrace.set(trace, events);
  }
  return [...byTrace].map(([trace, events]) => ({ trace, source, events }));
}

export const readLabels = (folder = tracesFolder): readonly LabelledRun[] =>
  linesOf(join(folder, "labels.jsonl")).map((line) => JSON.parse(line) as LabelledRun);

const linesOf = (path: string): string[] => readFileSync(path, "utf8").split("\n").filter(Boolean);
