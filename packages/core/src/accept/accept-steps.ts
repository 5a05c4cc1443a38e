import type { MonoMs, StepEvent } from "@rouse/contract";
import type { Context } from "../context.ts";
import type { Activity, Draft, Facts, Mark } from "../facts.ts";
import { type AgentRecord, isOver } from "../record.ts";
import type { Signal } from "../signal.ts";
import { isCancelled } from "../steps/digest-event.ts";
import { followStep } from "../steps/follow-steps.ts";
import { newTrail, type StepTrail } from "../steps/step.ts";
import type { Accepted } from "./accept-registration.ts";
import { addOutcome } from "./read-beat.ts";
import { markNow, turnClock } from "./work-clock.ts";

/**
 * Calls, results and messages that an agent or a recording tells. Each shows who owns the next event, so which clock
 * runs.
 */
export function acceptSteps(
  record: AgentRecord,
  signal: Extract<Signal, { kind: "stepped" }>,
  context: Context,
): Accepted {
  const { now, policy } = context;
  const facts: Draft<Facts> = { ...record.seen.facts };
  let { activity, clock } = record.work;
  let trail = record.seen.steps ?? newTrail;
  for (const event of signal.events) {
    const after = followStep(trail, event, now, policy.toolClasses);
    const next = isOver(record) ? activity : readOwner(activity, after, event, now);
    if (next !== activity) clock = turnClock(clock, next, record.life.bornAt, context);
    activity = next;
    readStepFacts(facts, event, trail, after, markNow(clock, now));
    trail = after;
  }
  const next: AgentRecord = {
    ...record,
    life: { ...record.life, heard: true, heardAt: now },
    work: { ...record.work, activity, clock },
    seen: { ...record.seen, facts, steps: trail },
  };
  return { record: next, answer: { status: "accepted", sequence: null, because: null }, events: [] };
}

/** The owner of the next event decides which clock runs. */
function readOwner(before: Activity, trail: StepTrail, event: StepEvent, now: MonoMs): Activity {
  const since = before.kind === "RUNNING" ? before.since : now;
  switch (trail.owner) {
    case "tool": {
      const goesOn = before.kind === "RUNNING" && before.open?.kind === "tool" && event.kind !== "tool_call";
      const name = trail.open[trail.open.length - 1]?.tool ?? "";
      return goesOn ? before : { kind: "RUNNING", since, open: { kind: "tool", name, since: now } };
    }
    case "model":
    case "unsure":
      return { kind: "RUNNING", since, open: { kind: "model", since: now } };
    case "person":
      return { kind: "WAITING", since: now, for: "input", until: null };
    case "provider": {
      const goesOn = before.kind === "WAITING" && before.for === "provider";
      return goesOn ? before : { kind: "WAITING", since: now, for: "provider", until: null };
    }
  }
}

function readStepFacts(facts: Draft<Facts>, event: StepEvent, before: StepTrail, after: StepTrail, mark: Mark): void {
  if (typeof event.tokens === "number" && event.tokens !== facts.tokenCount) {
    facts.tokenCount = event.tokens;
    facts.tokens = mark;
  }
  if (event.kind === "tool_call") {
    facts.toolCallCount = (facts.toolCallCount ?? 0) + 1;
    facts.toolCall = mark;
  }
  const step = after.lastStep === before.lastStep ? null : after.lastStep;
  if (step !== null) {
    facts.outcomes = addOutcome(facts.outcomes, mark.at, 1, step.failed === true ? 1 : 0);
    if (step.failed === true) facts.errorCount = (facts.errorCount ?? 0) + 1;
  }
  // A person's refusal is news, however long it took.
  const isNews =
    event.kind === "message" ||
    event.kind === "tool_call" ||
    isCancelled(event) ||
    (step !== null && (step.novelCall || step.novelResult));
  if (!isNews && facts.progress !== null) return;
  facts.progressMoves = facts.progressMoves || facts.progress !== null;
  facts.progress = mark;
}
