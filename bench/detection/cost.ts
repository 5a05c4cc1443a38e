import type { LoopPolicy, StepEvent } from "@rouse/contract";
import { findLoops, hasMoved, type Loop } from "../../packages/core/src/steps/find-loops.ts";
import { followStep } from "../../packages/core/src/steps/follow-steps.ts";
import { newTrail } from "../../packages/core/src/steps/step.ts";
import { median } from "../report.ts";

/** One run's events through all detectors, as in the monitor. Returns what the detectors found last. */
export function followRun(events: readonly StepEvent[], policy: LoopPolicy): { atEnd: readonly Loop[] } {
  let trail = newTrail;
  let atEnd: readonly Loop[] = [];
  for (const [at, event] of events.entries()) {
    const next = followStep(trail, event, at * 1000);
    if (hasMoved(trail, next)) atEnd = findLoops(next, policy);
    trail = next;
  }
  return { atEnd };
}

const rounds = 5;

/** Events per second on one core: the median of several rounds over all runs, after one to warm up. */
export function measureSpeed(runs: readonly { events: readonly StepEvent[] }[], policy: LoopPolicy): number {
  const events = runs.reduce((sum, run) => sum + run.events.length, 0);
  const takes: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const began = performance.now();
    for (const run of runs) followRun(run.events, policy);
    if (round > 0) takes.push((performance.now() - began) / 1000);
  }
  return events / median(takes);
}

/** What is saved of a run after so many events, in bytes of JSON. */
export function measureMemory(lengths: readonly number[], policy: LoopPolicy): ReadonlyMap<number, number> {
  const sizes = new Map<number, number>();
  let trail = newTrail;
  let done = 0;
  for (const length of lengths) {
    for (; done < length; done++) {
      const next = followStep(trail, endlessRun(done), done * 1000);
      if (hasMoved(trail, next)) findLoops(next, policy);
      trail = next;
    }
    sizes.set(length, Buffer.byteLength(JSON.stringify(trail)));
  }
  return sizes;
}

/** A run that always does something new, with every field that is kept filled: nothing grows more. */
function endlessRun(n: number): StepEvent {
  const turn = n % 5;
  const digest = `${n.toString(16).padStart(8, "0")}`.repeat(2);
  if (turn === 4) return { kind: "message", role: "agent", text_digest: digest, text_class: digest, tokens: n };
  const id = `call-${Math.floor(n / 5)}-${turn % 2}`;
  if (turn < 2) return { kind: "tool_call", id, tool: "shell", args_digest: digest };
  return { kind: "tool_result", id, text_digest: digest, text_class: digest, failed: n % 7 === 0 };
}
