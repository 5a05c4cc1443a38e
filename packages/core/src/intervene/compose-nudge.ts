import { describeDuration, type FindingKind, type MonoMs, type NudgeTemplate } from "@rouse/contract";
import { isLoop } from "../assess/moved-since.ts";
import type { AgentRecord } from "../record.ts";
import type { TakenTask } from "../tasks/task-record.ts";

/**
 * What an agent is told: facts in fixed words and numbers. Nothing that an agent, a tool or a web page wrote gets in.
 */
export interface Wording {
  readonly template: NudgeTemplate;
  readonly text: string;
}

const choices = "Please either:\n- Update your progress\n- Request handoff if stuck\n- Report blockers";

/** Loops that by definition bring nothing new. Other loops (one call with varying results, different failures) may. */
const bringsNothing: ReadonlySet<FindingKind> = new Set<FindingKind>([
  "identical-step",
  "error-class",
  "blocked-call",
  "same-words",
  "no-novelty",
  "stale-results",
]);

/** The usual reminder; for a loop, the loop is named. */
export function composeNudge(record: AgentRecord, cause: FindingKind | null, now: MonoMs): Wording {
  const finding = record.health.findings.find(({ kind }) => kind === cause);
  if (finding !== undefined && isLoop(finding.kind)) {
    const outcome = bringsNothing.has(finding.kind) ? " Nothing new has come of it." : "";
    return { template: "loop", text: `FACT: ${sentence(finding.text)}${outcome}\n${choices}` };
  }
  // A task that waits must be started.
  if (finding?.kind === "task-not-started")
    return { template: "reminder", text: `REMINDER: ${sentence(taskWaits(record, now))} Start it, or ${softened}` };
  // A person may ask at any time; an agent that rests or waits is told no working time.
  if (finding === undefined && record.work.activity.kind !== "RUNNING")
    return { template: "reminder", text: `REMINDER: You are asked how it goes. ${choices}` };
  const checkpoint = record.seen.facts.checkpoint ?? record.seen.facts.progress;
  const duration = describeDuration(now - (checkpoint?.at ?? record.life.bornAt));
  const fact = finding === undefined ? "" : ` (${finding.text})`;
  const text = `REMINDER: You have been working for ${duration} without checkpoint update${fact}. ${choices}`;
  return { template: "reminder", text };
}

const softened = choices.replace("Please either:", "else:");

const taskWaits = ({ task }: AgentRecord, now: MonoMs): string =>
  `task ${task.id} has waited for you for ${describeDuration(now - (task.assignedAt ?? now))} and you are idle`;

export const selfReflection = (failed: number, of: number): Wording => ({
  template: "self-reflection",
  text: `FACT: ${failed} of your last ${of} tasks failed. Before the next one, look at what they have in common and say what you will do differently.`,
});

const takenBecause: Readonly<Record<TakenTask["because"], string>> = {
  "timed-out": "it ran over its time limit",
  "cancelled-by-person": "it was cancelled",
  "reassigned-by-person": "it was given to somebody else",
  "marked-by-person": "a person looks into it",
};

export const takenWording = ({ taskId, because }: TakenTask): Wording => ({
  template: "task-taken",
  text: `FACT: task ${taskId} is no longer yours: ${takenBecause[because]}. Save what you have and stop working on it.`,
});

export const handOffWording = (): Wording => ({
  template: "hand-off",
  text: "FACT: your task is being handed to somebody else. Save what you have, write down where you are, and stop.",
});

export const limitOverWording = (): Wording => ({
  template: "limit-over",
  text: "FACT: the usage limit that stopped you is over. Go on with what you were doing.",
});

const sentence = (text: string): string => (text === "" ? "" : `${text[0]?.toUpperCase()}${text.slice(1)}.`);
