import type { LoopKind, LoopPolicy } from "@rouse/contract";
import type { Step, StepTrail } from "./step.ts";

/** What the steps of a run show. `suspect`: three or four times, worth a note; `stuck`: it goes on. */
export interface Loop {
  readonly kind: LoopKind;
  readonly level: "suspect" | "stuck";
  /** How often. */
  readonly times: number;
  /** Events that show it, oldest first. */
  readonly events: readonly number[];
}

type Detector = (steps: readonly Step[], trail: StepTrail) => { times: number; events: readonly number[] } | null;

/** Everything that repeats in a run right now. */
export function findLoops(trail: StepTrail, policy: LoopPolicy): readonly Loop[] {
  const steps = trail.steps.filter(isWork);
  const found: Loop[] = [];
  for (const [kind, look] of detectors) {
    const { enabled, suspect, stuck } = policy[kind];
    if (!enabled) continue;
    const seen = look(steps, trail);
    if (seen === null || seen.times < suspect) continue;
    found.push({ kind, level: seen.times >= stuck ? "stuck" : "suspect", times: seen.times, events: seen.events });
  }
  return found;
}

/** Lists, plans and thoughts between steps are neither work nor standstill; polling is waiting. */
const isWork = (step: Step): boolean => step.class !== "bookkeeping" && step.class !== "polls";

const isSameCall = (a: Step, b: Step): boolean => a.args !== null && a.args === b.args && a.tool === b.tool;
const isSameResult = (a: Step, b: Step): boolean =>
  (a.result !== null && a.result === b.result) || (a.resultClass !== null && a.resultClass === b.resultClass);
const changedSomething = (step: Step): boolean => step.class === "changes" && step.failed !== true;

/** The same call with the same result, with nothing changed in between, and most of what was done. */
const findIdenticalSteps: Detector = (steps) => {
  const last = steps[steps.length - 1];
  if (last === undefined || last.args === null || changedSomething(last)) return null;
  const events: number[] = [];
  let span = 0;
  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i] as Step;
    if (isSameCall(step, last) && isSameResult(step, last)) events.unshift(step.event);
    else if (changedSomething(step)) break;
    span += 1;
    if (span > 2 * events.length + 2) break;
  }
  return { times: events.length, events };
};

/** The same call in a row whatever comes back. Reading on (each result new) is not repetition. */
const findIdenticalCalls: Detector = (steps) => {
  const last = steps[steps.length - 1];
  if (last === undefined || last.args === null || last.class === "pages") return null;
  const run = runBack(steps, (step) => isSameCall(step, last));
  const stale = run.filter((step) => !step.novelResult).length;
  return stale * 2 < run.length && !changedSomething(last) ? null : tell(run);
};

/** The very same change applied again: it succeeds each time and the file grows. */
const findIdenticalChanges: Detector = (steps) => {
  const last = steps[steps.length - 1];
  if (last === undefined || last.args === null || !changedSomething(last)) return null;
  return tell(runBack(steps, (step) => isSameCall(step, last)));
};

const longestCycle = 8;

/** The same two to eight steps over and over. */
const findCycles: Detector = (steps) => {
  let best: readonly Step[] = [];
  let times = 0;
  for (let period = 2; period <= longestCycle; period++) {
    let i = steps.length - 1;
    while (i - period >= 0 && repeats(steps[i] as Step, steps[i - period] as Step)) i -= 1;
    const length = steps.length - 1 - i + period;
    const rounds = Math.floor(length / period);
    if (rounds < 2 || rounds <= times || isUniform(steps.slice(-period))) continue;
    times = rounds;
    best = steps.slice(-rounds * period);
  }
  return times === 0 ? null : { times, events: best.map(({ event }) => event) };
};

const repeats = (a: Step, b: Step): boolean => isSameCall(a, b) && (isSameResult(a, b) || changedSomething(a));
const isUniform = (steps: readonly Step[]): boolean => steps.every((step) => isSameCall(step, steps[0] as Step));

/** The same class of error, whatever is tried. Siblings that failed together are one failure. */
const findErrorClass: Detector = (steps) => {
  const last = steps[steps.length - 1];
  if (last === undefined || last.failed !== true || last.resultClass === null) return null;
  return tell(runBack(steps, (step) => step.failed === true && isSameResult(step, last)).filter(isOnItsOwn));
};

/** One failure after the other. */
const findErrorStreak: Detector = (steps) => tell(runBack(steps, (step) => step.failed === true).filter(isOnItsOwn));

const isOnItsOwn = (step: Step): boolean => !step.sibling;

/** The same call fails the same way again and again, whatever is changed in between: something else is in the way. */
const findBlockedCall: Detector = (steps) => {
  const last = steps[steps.length - 1];
  if (last === undefined || last.failed !== true || last.args === null) return null;
  return tell(
    steps.slice(-40).filter((step) => step.failed === true && isSameCall(step, last) && isSameResult(step, last)),
  );
};

const findRepliesWithoutCall: Detector = (_, { replies }) => ({
  times: replies.length,
  events: replies.map(({ event }) => event),
});

/** The agent says the same again, with nothing but particulars changed. */
const findSameWords: Detector = (_, { said }) => {
  const last = said[said.length - 1];
  if (last === undefined || last.textClass === null) return null;
  const same = said.filter(({ textClass }) => textClass === last.textClass);
  return { times: same.length, events: same.map(({ event }) => event) };
};

/** Nothing new at all: calls made before, results seen before. */
const findNoNovelty: Detector = (steps) => tell(runBack(steps, (step) => !step.novelCall && !step.novelResult));

function runBack(steps: readonly Step[], belongs: (step: Step) => boolean): readonly Step[] {
  let i = steps.length;
  while (i > 0 && belongs(steps[i - 1] as Step)) i -= 1;
  return steps.slice(i);
}

const tell = (steps: readonly Step[]) => ({ times: steps.length, events: steps.map(({ event }) => event) });

const detectors: readonly (readonly [LoopKind, Detector])[] = [
  ["identical-step", findIdenticalSteps],
  ["identical-call", findIdenticalCalls],
  ["identical-change", findIdenticalChanges],
  ["cycle", findCycles],
  ["error-class", findErrorClass],
  ["error-streak", findErrorStreak],
  ["blocked-call", findBlockedCall],
  ["replies-only", findRepliesWithoutCall],
  ["same-words", findSameWords],
  ["no-novelty", findNoNovelty],
];
