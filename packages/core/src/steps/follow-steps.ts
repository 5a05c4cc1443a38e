import type { MonoMs, StepEvent, ToolClass } from "@rouse/contract";
import type { Draft } from "../facts.ts";
import { isBlank, isCancelled } from "./digest-event.ts";
import { fingerprint, holds, remember } from "./remember-digests.ts";
import { noReplies, type OpenCall, type Owner, type Reply, type Step, type StepTrail } from "./step.ts";
import { classOfTool } from "./tool-classes.ts";

/** How many steps of work are remembered. No threshold above it can be reached. */
const mostSteps = 64;
const mostOpen = 64;
const mostReplies = 32;

type OwnClasses = Readonly<Record<string, ToolClass>>;
type DraftTrail = Draft<StepTrail>;

const noClasses: OwnClasses = {};

/** Adds one event of a run to what is remembered of it. */
export function followStep(trail: StepTrail, event: StepEvent, at: MonoMs, own: OwnClasses = noClasses): StepTrail {
  const next = draftOf(trail);
  next.events += 1;
  if (typeof event.tokens === "number") next.tokens = event.tokens;
  switch (event.kind) {
    case "tool_call":
      openCall(next, event, at);
      break;
    case "tool_result":
      closeCall(next, event, at, event.failed ?? null, own);
      break;
    case "message":
      hearMessage(next, event);
      break;
    case "error":
      if (next.open.length > 0 && event.role !== "provider") closeCall(next, event, at, true, own);
      else countApiError(next, at);
      break;
  }
  next.owner = ownerAfter(next, event);
  return next;
}

/** Written out field by field: a spread of so many fields costs more than the rest of an event. */
function draftOf(trail: StepTrail): DraftTrail {
  return {
    events: trail.events,
    windowFrom: trail.windowFrom,
    turnFrom: trail.turnFrom ?? 0,
    owner: trail.owner,
    steps: trail.steps,
    lastStep: trail.lastStep,
    open: trail.open,
    replies: trail.replies,
    said: trail.said,
    lastHeard: trail.lastHeard,
    seenCalls: trail.seenCalls,
    seenResults: trail.seenResults,
    tokens: trail.tokens,
    tokensAtNews: trail.tokensAtNews,
    apiErrors: trail.apiErrors,
  };
}

function ownerAfter(trail: StepTrail, event: StepEvent): Owner {
  if (trail.open.length > 0) return "tool";
  switch (event.kind) {
    case "tool_call":
    case "tool_result":
      return "model";
    case "message":
      return isOwnWord(event) ? "person" : "unsure";
    case "error":
      return trail.apiErrors === null ? "model" : "provider";
  }
}

const isOwnWord = ({ role }: StepEvent): boolean => role === "agent" || role === "assistant";

function openCall(trail: DraftTrail, event: StepEvent, at: MonoMs): void {
  const call: OpenCall = {
    id: event.id ?? null,
    tool: event.tool ?? "",
    args: event.args_digest ?? null,
    event: trail.events - 1,
    at,
  };
  trail.open = trail.open.length === 0 ? [call] : append(trail.open, call, mostOpen);
  trail.replies = noReplies;
  trail.apiErrors = null;
}

/** A result without a call is a step of its own: some sources record only results. */
function closeCall(trail: DraftTrail, event: StepEvent, at: MonoMs, failed: boolean | null, own: OwnClasses): void {
  const index = findCall(trail.open, event);
  const call = trail.open[index];
  trail.replies = noReplies;
  if (call !== undefined) trail.open = trail.open.length === 1 ? noCalls : trail.open.filter((_, i) => i !== index);
  // A call that never ran is no step.
  if (isCancelled(event)) return;
  const tool = call?.tool ?? event.tool ?? "";
  const step = makeStep(trail, event, at, call, failed, classOfTool(tool, own), tool);
  trail.lastStep = step;
  if (isWork(step)) trail.steps = append(trail.steps, step, mostSteps);
  if (!step.novelCall && !step.novelResult) return;
  trail.tokensAtNews = trail.tokens;
  // A new thought is words as well, and does not make the words around it new.
  if (step.class !== "bookkeeping") trail.said = noReplies;
}

const noCalls: readonly OpenCall[] = [];

function makeStep(
  trail: DraftTrail,
  event: StepEvent,
  at: MonoMs,
  call: OpenCall | undefined,
  failed: boolean | null,
  toolClass: ToolClass,
  tool: string,
): Step {
  const args = call?.args ?? null;
  const result = event.text_digest ?? null;
  return {
    event: trail.events - 1,
    tool,
    class: toolClass,
    args,
    result,
    resultClass: event.text_class ?? null,
    failed,
    novelCall: args === null || noteCall(trail, tool, args),
    novelResult: result === null || noteResult(trail, result),
    sibling: call !== undefined && isSibling(trail, call),
    at,
    took: call?.at === undefined ? null : at - call.at,
  };
}

/** Whether the call is new to the run; remembers it. */
function noteCall(trail: DraftTrail, tool: string, args: string): boolean {
  const print = fingerprint(tool, args);
  if (holds(trail.seenCalls, print)) return false;
  trail.seenCalls = remember(trail.seenCalls, print);
  return true;
}

function noteResult(trail: DraftTrail, result: string): boolean {
  const print = fingerprint(result);
  if (holds(trail.seenResults, print)) return false;
  trail.seenResults = remember(trail.seenResults, print);
  return true;
}

const isWork = (step: Step): boolean => step.class !== "bookkeeping" && step.class !== "polls";

/** Another call was answered since this one began, so the two ran side by side. */
const isSibling = ({ lastStep }: StepTrail, call: OpenCall): boolean =>
  lastStep !== null && lastStep.event > call.event;

function findCall(open: readonly OpenCall[], event: StepEvent): number {
  if (open.length <= 1) return open.length - 1;
  const byId = typeof event.id === "string" ? open.findIndex(({ id }) => id === event.id) : -1;
  if (byId >= 0) return byId;
  const byTool = open.findIndex(({ tool }) => tool === event.tool);
  return byTool >= 0 ? byTool : 0;
}

/** A person who says something new gives the agent a new start; a harness that repeats itself does not. */
function hearMessage(trail: DraftTrail, event: StepEvent): void {
  const wordless = isBlank(event);
  const textClass = wordless ? null : (event.text_class ?? null);
  if (isOwnWord(event)) {
    const reply: Reply = { event: trail.events - 1, text: wordless ? null : (event.text_digest ?? null), textClass };
    trail.replies = append(trail.replies, reply, mostReplies);
    trail.said = append(trail.said, reply, mostReplies);
    trail.apiErrors = null;
    return;
  }
  const again = textClass !== null && textClass === trail.lastHeard;
  trail.lastHeard = textClass;
  if (!again) trail.replies = noReplies;
}

function countApiError(trail: DraftTrail, at: MonoMs): void {
  const { apiErrors } = trail;
  trail.apiErrors =
    apiErrors === null ? { times: 1, since: at } : { times: apiErrors.times + 1, since: apiErrors.since };
}

/** Appends to a bounded list: once it is full, the oldest item goes. */
function append<T>(list: readonly T[], item: T, most: number): readonly T[] {
  const next = list.length < most ? list.slice() : list.slice(1 - most);
  next.push(item);
  return next;
}
