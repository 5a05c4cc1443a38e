import type { StepEvent } from "@rouse/contract";

/** The two published rules to compare with, written from their description. Each returns the event it calls stuck. */
interface ReferenceRule {
  readonly name: string;
  firstAlarm(events: readonly StepEvent[]): number | null;
}

interface Action {
  readonly event: number;
  /** `null`: not recorded, equal to nothing. */
  readonly call: string | null;
  readonly result: string | null;
  readonly failed: boolean;
}

const isSame = (a: string | null, b: string | null | undefined): boolean => a !== null && a === b;

/**
 * The same action and result 4 times, action and error 3 times, message 3 times, or two actions in turn over 6 steps.
 */
export const openHandsRule: ReferenceRule = {
  name: "OpenHands rule",
  firstAlarm(events) {
    const actions: Action[] = [];
    const words: string[] = [];
    for (const [index, event] of events.entries()) {
      if (event.kind === "tool_call") words.length = 0;
      else if (event.kind === "message") {
        if (event.role === "agent" && typeof event.text_digest === "string") words.push(event.text_digest);
        else words.length = 0;
      } else {
        actions.push({ event: index, call: callBefore(events, index), ...resultOf(event) });
      }
      if (isMonologue(words) || repeatsAction(actions)) return index;
    }
    return null;
  },
};

const resultOf = (event: StepEvent) => ({
  result: event.text_digest ?? null,
  failed: event.kind === "error" || event.failed === true,
});

const isMonologue = (words: readonly string[]): boolean =>
  words.length >= 3 && words.slice(-3).every((word) => word === words[words.length - 1]);

function repeatsAction(actions: readonly Action[]): boolean {
  const last = actions[actions.length - 1];
  if (last === undefined) return false;
  const same = (count: number, alike: (one: Action) => boolean): boolean =>
    actions.length >= count && actions.slice(-count).every((one) => isSame(last.call, one.call) && alike(one));
  if (same(4, (one) => isSame(last.result, one.result))) return true;
  if (same(3, (one) => one.failed)) return true;
  return alternates(actions.slice(-6));
}

const alternates = (six: readonly Action[]): boolean =>
  six.length === 6 &&
  six.slice(2).every((one, i) => isSame(one.call, six[i]?.call) && isSame(one.result, six[i]?.result));

/** Five rounds of the same one to five calls; what comes back is not looked at. */
export const geminiRule: ReferenceRule = {
  name: "Gemini CLI rule",
  firstAlarm(events) {
    const calls: (string | null)[] = [];
    for (const [index, event] of events.entries()) {
      if (event.kind !== "tool_call") continue;
      calls.push(callOf(event));
      if ([1, 2, 3, 4, 5].some((period) => hasRounds(calls, period, 5))) return index;
    }
    return null;
  },
};

function hasRounds(calls: readonly (string | null)[], period: number, rounds: number): boolean {
  const from = calls.length - period * rounds;
  if (from < 0) return false;
  for (let i = from + period; i < calls.length; i++) {
    if (!isSame(calls[i] ?? null, calls[i - period])) return false;
  }
  return true;
}

const callOf = ({ tool, args_digest: digest }: StepEvent): string | null =>
  typeof digest === "string" ? `${tool}\n${digest}` : null;

/** The call this result answers: the one with its id, or else the last one. */
function callBefore(events: readonly StepEvent[], index: number): string | null {
  const { id } = events[index] as StepEvent;
  for (let i = index - 1; i >= 0 && i > index - 20; i--) {
    const event = events[i] as StepEvent;
    if (event.kind === "tool_call" && (typeof id !== "string" || event.id === id)) return callOf(event);
    if (event.kind === "message") return null;
  }
  return null;
}
