import type { LoopKind, LoopPolicy } from "@rouse/contract";
import { type Reply, type Step, type StepTrail, startAnew } from "./step.ts";

/** A repetition in a run. `suspect`: three or four times, worth a note; `stuck`: it goes on. */
export interface Loop {
  readonly kind: LoopKind;
  readonly level: "suspect" | "stuck";
  /** How often. */
  readonly times: number;
  /** Events that show it, oldest first. */
  readonly events: readonly number[];
}

/** Everything that repeats in a run right now. */
export function findLoops(trail: StepTrail, policy: LoopPolicy): readonly Loop[] {
  const window = windowOf(trail);
  let found = nothing;
  for (const [kind, look] of detectors) {
    const limits = policy[kind];
    if (!limits.enabled) continue;
    const seen = look(window);
    if (seen === null || seen.times < limits.suspect) continue;
    if (found === nothing) found = [];
    const level = seen.times >= limits.stuck ? "stuck" : "suspect";
    found.push({ kind, level, times: seen.times, events: seen.shown.map(({ event }) => event) });
  }
  return found;
}

const nothing: Loop[] = [];

/** A loop within a turn is over when the turn ends well. One across turns is not. */
export function endTurn(trail: StepTrail, well: boolean, policy: LoopPolicy): StepTrail {
  const turn = { ...trail, windowFrom: Math.max(trail.windowFrom, trail.turnFrom ?? 0) };
  const isOver = well && findLoops(turn, policy).some(({ level }) => level === "stuck");
  return { ...(isOver ? startAnew(trail) : trail), turnFrom: trail.events };
}

const lastOf = (steps: readonly Step[]): Step | undefined => steps[steps.length - 1];

/** The same call with the same result, no edit in between, and most of the recent steps. */
const findIdenticalSteps: Detector = ({ steps }) => {
  const last = lastOf(steps);
  if (last === undefined || last.args === null || changedSomething(last)) return null;
  const found: Step[] = [];
  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i] as Step;
    if (isSameCall(step, last) && isSameResult(step, last)) found.push(step);
    else if (changedSomething(step)) break;
    if (steps.length - i > 2 * found.length + 2) break;
  }
  return tell(found.reverse());
};

/** The same call in a row, whatever comes back. New results each time are reading on, not repetition. */
const findIdenticalCalls: Detector = ({ steps }) => {
  const last = lastOf(steps);
  if (last === undefined || last.args === null || last.class === "pages") return null;
  const run = runBack(steps, (step) => isSameCall(step, last));
  const stale = run.filter((step) => !step.novelResult).length;
  return stale * 2 < run.length && !changedSomething(last) ? null : tell(run);
};

/** The very same change again: it succeeds each time and the file grows. */
const findIdenticalChanges: Detector = ({ steps }) => {
  const last = lastOf(steps);
  if (last === undefined || last.args === null || !changedSomething(last)) return null;
  return tell(runBack(steps, (step) => isSameCall(step, last)));
};

const shortestCycle = 2;
const longestCycle = 8;

/** Rounds of the same two to eight steps. */
const findCycles: Detector = ({ steps }) => {
  let best = 0;
  let period = 0;
  for (let tried = shortestCycle; tried <= longestCycle; tried++) {
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

/** One repeated call is no cycle; it has detectors of its own. */
function isUniform(steps: readonly Step[], period: number): boolean {
  const last = steps[steps.length - 1] as Step;
  for (let i = steps.length - period; i < steps.length; i++) if (!isSameCall(steps[i] as Step, last)) return false;
  return true;
}

/** The same class of error, whatever is tried. Siblings that failed together are one failure. */
const findErrorClass: Detector = ({ steps }) => {
  const last = lastOf(steps);
  if (last === undefined || last.failed !== true || last.resultClass === null) return null;
  return tell(runBack(steps, (step) => step.failed === true && isSameResult(step, last)).filter(isOnItsOwn));
};

/** One failure after the other. */
const findErrorStreak: Detector = ({ steps }) =>
  lastOf(steps)?.failed === true ? tell(runBack(steps, (step) => step.failed === true).filter(isOnItsOwn)) : null;

const isOnItsOwn = (step: Step): boolean => !step.sibling;

/** Further back a failure does not count. */
const blockedWithin = 40;

/** The same call fails the same way, whatever is changed in between: something else is in the way. */
const findBlockedCall: Detector = ({ steps }) => {
  const last = lastOf(steps);
  if (last === undefined || last.failed !== true || last.args === null) return null;
  const recent = steps.slice(-blockedWithin);
  return tell(recent.filter((step) => step.failed === true && isSameCall(step, last) && isSameResult(step, last)));
};

const findRepliesWithoutCall: Detector = ({ replies }) => tell(replies);

/** The agent says the same again, but for numbers and ids. */
const findSameWords: Detector = ({ said }) => {
  const last = said[said.length - 1];
  if (last === undefined || last.textClass === null) return null;
  return tell(said.filter(({ textClass }) => textClass === last.textClass));
};

/** Nothing new: calls made before, results seen before. */
const findNoNovelty: Detector = ({ steps }) => {
  const last = lastOf(steps);
  if (last === undefined || !isOldNews(last)) return null;
  return tell(runBack(steps, isOldNews));
};

const isOldNews = (step: Step): boolean => !step.novelCall && !step.novelResult;

const staleWithin = 20;

/**
 * All answers are known already: searches that find nothing, ways around a wall that end at it. Only answers that
 * different calls brought count (a file is read again after a compaction), and only reads and failures: an unknown tool
 * may have worked silently.
 */
const findStaleResults: Detector = ({ steps }) => {
  const last = lastOf(steps);
  if (last === undefined || !isStale(last)) return null;
  const recent = runBack(steps.slice(-staleWithin), (step) => !changedSomething(step));
  return tell(recent.filter((step) => isStale(step) && recent.some((other) => answersAnother(other, step))));
};

const isStale = (step: Step): boolean =>
  !step.novelResult && step.args !== null && (step.failed === true || step.class === "reads") && !step.sibling;

const answersAnother = (a: Step, b: Step): boolean => a.result === b.result && a.args !== null && !isSameCall(a, b);

function runBack(steps: readonly Step[], belongs: (step: Step) => boolean): readonly Step[] {
  let i = steps.length;
  while (i > 0 && belongs(steps[i - 1] as Step)) i -= 1;
  return steps.slice(i);
}

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
  ["stale-results", findStaleResults],
];

// Unknown never equals unknown: two calls without recorded arguments are two calls.

const isSameCall = (a: Step, b: Step): boolean => a.args !== null && a.args === b.args && a.tool === b.tool;

/** The same result, or the same but for numbers, ids and times. */
const isSameResult = (a: Step, b: Step): boolean =>
  (a.result !== null && a.result === b.result) || (a.resultClass !== null && a.resultClass === b.resultClass);

const changedSomething = (step: Step): boolean => step.class === "changes" && step.failed !== true;

/** What a run shows since its window began. */
interface Window {
  readonly steps: readonly Step[];
  readonly replies: readonly Reply[];
  readonly said: readonly Reply[];
}

/** How often something repeats, and what shows it, oldest first. */
interface Seen {
  readonly times: number;
  readonly shown: readonly { readonly event: number }[];
}

type Detector = (window: Window) => Seen | null;

const tell = (shown: Seen["shown"]): Seen | null => (shown.length === 0 ? null : { times: shown.length, shown });

function windowOf(trail: StepTrail): Window {
  const { windowFrom, steps, replies, said } = trail;
  if (windowFrom === 0) return trail;
  return { steps: since(steps, windowFrom), replies: since(replies, windowFrom), said: since(said, windowFrom) };
}

/** Nothing to leave out once everything older has been forgotten. */
const since = <T extends { readonly event: number }>(list: readonly T[], from: number): readonly T[] =>
  list[0] === undefined || list[0].event >= from ? list : list.filter(({ event }) => event >= from);

/** Whether there is anything new for detectors to look at. */
export const hasMoved = (before: StepTrail | null, after: StepTrail): boolean =>
  before === null ||
  before.steps !== after.steps ||
  before.replies !== after.replies ||
  before.said !== after.said ||
  before.windowFrom !== after.windowFrom;
