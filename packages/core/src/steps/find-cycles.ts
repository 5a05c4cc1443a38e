import { changedSomething, isSameCall, isSameResult } from "./same-step.ts";
import type { Step } from "./step.ts";
import type { Detector } from "./window.ts";

const shortest = 2;
const longest = 8;

/** Rounds of the same two to eight steps. */
export const findCycles: Detector = ({ steps }) => {
  let best = 0;
  let period = 0;
  for (let tried = shortest; tried <= longest; tried++) {
    const rounds = roundsOf(steps, tried);
    if (rounds < 2 || rounds <= best || isUniform(steps, tried)) continue;
    best = rounds;
    period = tried;
  }
  return best === 0 ? null : { times: best, shown: steps.slice(-best * period) };
};

function roundsOf(steps: readonly Step[], period: number): number {
  let i = steps.length - 1;
  while (i >= period && repeats(steps[i] as Step, steps[i - period] as Step)) i -= 1;
  return Math.floor((steps.length - 1 - i + period) / period);
}

const repeats = (a: Step, b: Step): boolean => isSameCall(a, b) && (isSameResult(a, b) || changedSomething(a));

/** A single call repeated is no cycle of several; it has detectors of its own. */
function isUniform(steps: readonly Step[], period: number): boolean {
  const last = steps[steps.length - 1] as Step;
  for (let i = steps.length - period; i < steps.length; i++) if (!isSameCall(steps[i] as Step, last)) return false;
  return true;
}
