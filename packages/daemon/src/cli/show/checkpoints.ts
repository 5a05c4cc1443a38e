import type { Checkpoint, CheckpointFlaw, CheckpointVerdict, CheckpointWithState, EpochMs } from "@rouse/contract";
import { describeBytes } from "../doctor/check.ts";
import { writeJson } from "../surroundings.ts";
import { drawFacts, drawList, type Fact, type ListColumn, none } from "../text/draw-table.ts";
import { type Line, type Span, styled } from "../text/styled-text.ts";
import { ago, stampAndAge } from "../text/tell-time.ts";

/** How many lines of a state are shown; the whole state is for files and other programs. */
const mostLines = 200;

type Common = Pick<CheckpointVerdict["checks"][number], "number" | "step" | "stepName" | "time">;

/** Columns of a list and of a verdict. A checkpoint that cannot be read has no values. */
const commonColumns = (now: EpochMs): readonly ListColumn<Common>[] => [
  ["NUMBER", ({ number }) => (number === null ? none : String(number))],
  ["STEP", ({ step }) => (step === null ? none : String(step))],
  ["NAME", ({ stepName }) => stepName || none, { least: 8 }],
  ["SAVED", ({ time }) => (time === null ? none : ago(time, now))],
];

/** `rouse checkpoints list`: the chain of a task, newest first. */
export function showCheckpoints(
  taskId: string,
  checkpoints: readonly Checkpoint[],
  now: EpochMs,
  width: number,
): Line[] {
  if (checkpoints.length === 0) return [[`Task ${taskId} has no checkpoints.`]];
  const columns: ListColumn<Checkpoint>[] = [
    ...commonColumns(now),
    ["BY", ({ agentId }) => agentId ?? none, { least: 6 }],
    ["STATE", ({ stateBytes }) => describeBytes(stateBytes)],
    ["WORKSPACE", ({ workspace }) => workspace?.commit.slice(0, 12) ?? none, { least: 4 }],
    ["ID", ({ id }) => id, { least: 9 }],
  ];
  return drawList(checkpoints, columns, width);
}

/** `rouse checkpoints show`: everything that the id is a hash of, then the state. */
export function showCheckpoint(checkpoint: CheckpointWithState, now: EpochMs, width: number): Line[] {
  const { workspace, parent, agentId, incarnation, stepName } = checkpoint;
  const facts: Fact[] = [
    ["id", [checkpoint.id]],
    ["task", [`${checkpoint.taskId}, checkpoint ${checkpoint.number}`]],
    ["step", [stepName === "" ? String(checkpoint.step) : `${checkpoint.step} (${stepName})`]],
    ["saved", [stampAndAge(checkpoint.time, now)]],
    ["by", [agentId === null ? none : incarnation === null ? agentId : `${agentId}, incarnation ${incarnation}`]],
    ["after", [parent ?? none]],
    ["workspace", ...(workspace === null ? [[none]] : [[workspace.commit], [`of ${workspace.folder}`]])],
    ["state", [`${describeBytes(checkpoint.stateBytes)}, SHA-256 ${checkpoint.stateHash}`]],
  ];
  return [...drawFacts(facts, width), [], ...showState(checkpoint.state)];
}

function showState(state: unknown): Line[] {
  const lines = writeJson(state, 2).split("\n");
  const shown = lines.slice(0, mostLines).map((line): Line => [line]);
  const hidden = lines.length - shown.length;
  return hidden === 0 ? shown : [...shown, [styled("dim", `… ${hidden} more lines; --state prints all of it`)]];
}

const inWords: Readonly<Record<CheckpointFlaw, string>> = {
  "head-changed": "it was changed after it was saved",
  "state-missing": "its state is gone",
  "state-changed": "its state was changed",
  unreadable: "it cannot be read",
  missing: "it was saved as the newest, and is gone",
  "parent-missing": "the one it goes on from is gone",
  "parent-flawed": "one that it goes on from is not right",
};

/** `rouse checkpoints verify`: every one, and what is wrong with it. */
export function showVerdict(verdict: CheckpointVerdict, now: EpochMs, width: number): Line[] {
  const { taskId, checks, sound, more } = verdict;
  if (checks.length === 0) return [[`Task ${taskId} has no checkpoints.`]];
  const columns: ListColumn<CheckpointVerdict["checks"][number]>[] = [
    ...commonColumns(now),
    ["FOUND", styledFlaws, { least: 20 }],
  ];
  return [...drawList(checks, columns, width), [], ...summarise(checks, sound, more)];
}

function styledFlaws({ flaws, stateForgotten }: CheckpointVerdict["checks"][number]): Span {
  if (flaws.length > 0) return styled("red", flaws.map((flaw) => inWords[flaw]).join("; "));
  return styled("green", stateForgotten ? "as it was saved; its state is not kept any more" : "as it was saved");
}

function summarise(checks: CheckpointVerdict["checks"], sound: boolean, more: boolean): Line[] {
  const wrong = checks.filter(({ flaws }) => flaws.length > 0).length;
  const all = more ? `The newest ${checks.length} are right.` : `All ${checks.length} are right.`;
  const summary = sound
    ? styled("green", checks.length === 1 ? "The checkpoint is right." : all)
    : styled("red", `${wrong} of ${checks.length} ${wrong === 1 ? "is" : "are"} not right.`);
  if (!more) return [[summary]];
  // Checkpoints are numbered from 1 without gaps.
  const older = (checks.at(-1)?.number ?? 1) - 1;
  const unseen = older === 1 ? "The one before them was" : `The ${older} before them were`;
  return [[summary], [styled("yellow", `${unseen} not looked at: nothing is said about whether they are right.`)]];
}
