import type { LoopKind, StepEvent, ToolClass } from "@rouse/contract";
import { isBlank, isCancelled } from "./digest-event.ts";
import { classOfTool } from "./tool-classes.ts";

/**
 * followStep and findLoops written as plainly as possible: the whole run is kept and read from its beginning each time.
 * Slow and unbounded; the real ones must agree with it.
 */
export interface PlainStep {
  readonly event: number;
  readonly tool: string;
  readonly class: ToolClass;
  readonly args: string | null;
  readonly result: string | null;
  readonly resultClass: string | null;
  readonly failed: boolean | null;
  readonly novelCall: boolean;
  readonly novelResult: boolean;
  readonly sibling: boolean;
}

interface Words {
  readonly event: number;
  readonly textClass: string | null;
}

export type PlainLoops = Readonly<Partial<Record<LoopKind, { times: number; events: readonly number[] }>>>;

const isWork = (step: PlainStep): boolean => step.class !== "bookkeeping" && step.class !== "polls";
const isSameCall = (a: PlainStep, b: PlainStep) => a.args !== null && a.args === b.args && a.tool === b.tool;
const isSameResult = (a: PlainStep, b: PlainStep) =>
  (a.result !== null && a.result === b.result) || (a.resultClass !== null && a.resultClass === b.resultClass);
const changes = (step: PlainStep) => step.class === "changes" && step.failed !== true;

/** Everything that repeats at the end of a run, from `windowFrom` on. */
export function plainLoops(events: readonly StepEvent[], windowFrom = 0): PlainLoops {
  const all = plainSteps(events);
  const steps = all
    .filter(isWork)
    .slice(-64)
    .filter(({ event }) => event >= windowFrom);
  const { replies, said } = plainWords(events, all, windowFrom);
  return Object.fromEntries(
    Object.entries({
      "identical-step": identicalSteps(steps),
      "identical-call": identicalCalls(steps),
      "identical-change": identicalChanges(steps),
      cycle: cycles(steps),
      "error-class": errorClass(steps),
      "error-streak": tell(atEnd(steps, ({ failed }) => failed === true).filter(({ sibling }) => !sibling)),
      "blocked-call": blockedCall(steps),
      "replies-only": tell(replies),
      "same-words": sameWords(said),
      "no-novelty": tell(atEnd(steps, (step) => !step.novelCall && !step.novelResult)),
      "stale-results": staleResults(steps),
    }).filter(([, loop]) => loop.times > 0),
  );
}

export function plainSteps(events: readonly StepEvent[]): readonly PlainStep[] {
  let open: { call: StepEvent; event: number }[] = [];
  const steps: PlainStep[] = [];
  for (const [index, event] of events.entries()) {
    if (event.kind === "tool_call") open = [...open, { call: event, event: index }].slice(-64);
    const closes =
      event.kind === "tool_result" || (event.kind === "error" && open.length > 0 && event.role !== "provider");
    if (!closes) continue;
    const answered = whichCall(open, event);
    open = open.filter((one) => one !== answered);
    if (!isCancelled(event)) steps.push(plainStep(steps, event, index, answered));
  }
  return steps;
}

function whichCall(open: readonly { call: StepEvent; event: number }[], event: StepEvent) {
  if (open.length <= 1) return open[0];
  return (
    open.find(({ call }) => typeof event.id === "string" && call.id === event.id) ??
    open.find(({ call }) => (call.tool ?? "") === event.tool) ??
    open[0]
  );
}

function plainStep(
  before: readonly PlainStep[],
  event: StepEvent,
  index: number,
  answered: { call: StepEvent; event: number } | undefined,
): PlainStep {
  const tool = answered === undefined ? (event.tool ?? "") : (answered.call.tool ?? "");
  const args = answered?.call.args_digest ?? null;
  const result = event.text_digest ?? null;
  const last = before[before.length - 1];
  return {
    event: index,
    tool,
    class: classOfTool(tool),
    args,
    result,
    resultClass: event.text_class ?? null,
    failed: event.kind === "error" ? true : (event.failed ?? null),
    novelCall: args === null || !before.some((step) => step.tool === tool && step.args === args),
    novelResult: result === null || !before.some((step) => step.result === result),
    sibling: answered !== undefined && last !== undefined && last.event > answered.event,
  };
}

function plainWords(events: readonly StepEvent[], steps: readonly PlainStep[], windowFrom: number) {
  let replies: Words[] = [];
  let said: Words[] = [];
  let heard: string | null = null;
  const openAt = openBefore(events);
  for (const [index, event] of events.entries()) {
    const textClass = isBlank(event) ? null : (event.text_class ?? null);
    if (event.kind === "message" && (event.role === "agent" || event.role === "assistant")) {
      replies = [...replies, { event: index, textClass }].slice(-32);
      said = [...said, { event: index, textClass }].slice(-32);
    } else if (event.kind === "message") {
      if (textClass === null || textClass !== heard) replies = [];
      heard = textClass;
    } else if (event.kind !== "error" || (openAt[index] === true && event.role !== "provider")) {
      replies = [];
      const step = steps.find((one) => one.event === index);
      if (step !== undefined && (step.novelCall || step.novelResult) && step.class !== "bookkeeping") said = [];
    }
  }
  const inWindow = ({ event }: Words) => event >= windowFrom;
  return { replies: replies.filter(inWindow), said: said.filter(inWindow) };
}

/** Whether a call was open when each event came. */
function openBefore(events: readonly StepEvent[]): readonly boolean[] {
  let open = 0;
  return events.map((event) => {
    const before = open > 0;
    if (event.kind === "tool_call") open = Math.min(64, open + 1);
    else if (event.kind === "tool_result" || (event.kind === "error" && event.role !== "provider"))
      open = Math.max(0, open - 1);
    return before;
  });
}

type Told = { times: number; events: readonly number[] };
const tell = (shown: readonly { event: number }[]): Told => ({
  times: shown.length,
  events: shown.map(({ event }) => event),
});
const nothing = tell([]);

function atEnd(steps: readonly PlainStep[], belongs: (step: PlainStep) => boolean): readonly PlainStep[] {
  const ends = steps.findLastIndex((step) => !belongs(step));
  return steps.slice(ends + 1);
}

function identicalSteps(steps: readonly PlainStep[]): Told {
  const last = steps[steps.length - 1];
  if (last === undefined || last.args === null || changes(last)) return nothing;
  const found: PlainStep[] = [];
  for (const [back, step] of steps.toReversed().entries()) {
    if (isSameCall(step, last) && isSameResult(step, last)) found.unshift(step);
    else if (changes(step)) break;
    if (back + 1 > 2 * found.length + 2) break;
  }
  return tell(found);
}

function identicalCalls(steps: readonly PlainStep[]): Told {
  const last = steps[steps.length - 1];
  if (last === undefined || last.args === null || last.class === "pages") return nothing;
  const run = atEnd(steps, (step) => isSameCall(step, last));
  const isReadingOn = run.filter(({ novelResult }) => novelResult).length * 2 > run.length;
  return isReadingOn && !changes(last) ? nothing : tell(run);
}

function identicalChanges(steps: readonly PlainStep[]): Told {
  const last = steps[steps.length - 1];
  return last === undefined || !changes(last) ? nothing : tell(atEnd(steps, (step) => isSameCall(step, last)));
}

function cycles(steps: readonly PlainStep[]): Told {
  let best: Told = nothing;
  for (const period of [2, 3, 4, 5, 6, 7, 8]) {
    const round = steps.slice(-period);
    if (round.every((step) => isSameCall(step, round[0] as PlainStep))) continue;
    let rounds = 1;
    while (isRound(steps, period, rounds)) rounds += 1;
    if (rounds >= 2 && rounds > best.times)
      best = { times: rounds, events: steps.slice(-rounds * period).map(({ event }) => event) };
  }
  return best;
}

/** Whether the round before the last `rounds` is the same as the one after it. */
function isRound(steps: readonly PlainStep[], period: number, rounds: number): boolean {
  const from = steps.length - (rounds + 1) * period;
  if (from < 0) return false;
  return steps.slice(from, from + period).every((step, i) => {
    const next = steps[from + period + i] as PlainStep;
    return isSameCall(step, next) && (isSameResult(step, next) || changes(next));
  });
}

function errorClass(steps: readonly PlainStep[]): Told {
  const last = steps[steps.length - 1];
  if (last === undefined || last.failed !== true || last.resultClass === null) return nothing;
  const run = atEnd(steps, (step) => step.failed === true && isSameResult(step, last));
  return tell(run.filter(({ sibling }) => !sibling));
}

function blockedCall(steps: readonly PlainStep[]): Told {
  const last = steps[steps.length - 1];
  if (last === undefined || last.failed !== true) return nothing;
  const alike = (step: PlainStep) => step.failed === true && isSameCall(step, last) && isSameResult(step, last);
  return tell(steps.slice(-40).filter(alike));
}

function sameWords(said: readonly Words[]): Told {
  const last = said[said.length - 1];
  if (last === undefined || last.textClass === null) return nothing;
  return tell(said.filter(({ textClass }) => textClass === last.textClass));
}

function staleResults(steps: readonly PlainStep[]): Told {
  const last = steps[steps.length - 1];
  const recent = atEnd(steps.slice(-20), (step) => !changes(step));
  const isStale = (step: PlainStep) =>
    !step.novelResult && step.args !== null && (step.failed === true || step.class === "reads") && !step.sibling;
  const answeredOther = (step: PlainStep) =>
    recent.some(
      (one) =>
        one.args !== null && `${one.tool} ${one.args}` !== `${step.tool} ${step.args}` && one.result === step.result,
    );
  return last !== undefined && isStale(last) ? tell(recent.filter(isStale).filter(answeredOther)) : nothing;
}
