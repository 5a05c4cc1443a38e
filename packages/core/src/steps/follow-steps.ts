import type { MonoMs, StepEvent, ToolClass } from "@rouse/contract";
import { hasSeen, remember } from "./remember-digests.ts";
import type { OpenCall, Owner, Reply, Step, StepTrail } from "./step.ts";
import { classOfTool } from "./tool-classes.ts";

const mostSteps = 64;
const mostOpen = 64;
const mostReplies = 32;

type OwnClasses = Readonly<Record<string, ToolClass>>;

/** Adds one event of a run to what is remembered of it. */
export function followStep(trail: StepTrail, event: StepEvent, at: MonoMs, own: OwnClasses = {}): StepTrail {
  const followed = follow({ ...trail, events: trail.events + 1, tokens: event.tokens ?? trail.tokens }, event, at, own);
  return { ...followed, owner: ownerAfter(followed, event) };
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

function follow(next: StepTrail, event: StepEvent, at: MonoMs, own: OwnClasses): StepTrail {
  switch (event.kind) {
    case "tool_call":
      return openCall(next, event);
    case "tool_result":
      return closeCall(next, event, own);
    case "message":
      return hearMessage(next, event);
    case "error":
      return next.open.length > 0 ? closeCall(next, { ...event, failed: true }, own) : countApiError(next, at);
  }
}

function openCall(trail: StepTrail, event: StepEvent): StepTrail {
  // Calls that are issued before any of them is answered belong together.
  const batch = trail.open.length === 0 ? trail.batch + 1 : trail.batch;
  const call: OpenCall = {
    id: event.id ?? null,
    tool: event.tool ?? "",
    args: event.args_digest ?? null,
    event: trail.events - 1,
    batch,
  };
  return { ...trail, batch, open: [...trail.open.slice(1 - mostOpen), call], replies: [], apiErrors: null };
}

/** A result without a call (some sources record only what came back) is a step of its own. */
function closeCall(trail: StepTrail, event: StepEvent, own: OwnClasses): StepTrail {
  const at = findCall(trail.open, event);
  const call = trail.open[at];
  const open = call === undefined ? trail.open : trail.open.filter((_, i) => i !== at);
  const tool = call?.tool ?? event.tool ?? "";
  const args = call?.args ?? null;
  const key = args === null ? null : `${tool}\n${args}`;
  const result = event.text_digest ?? null;
  const novelCall = key === null || !hasSeen(trail.seenCalls, key);
  const novelResult = result === null || !hasSeen(trail.seenResults, result);
  const last = trail.steps[trail.steps.length - 1];
  const step: Step = {
    event: trail.events - 1,
    tool,
    class: classOfTool(tool, own),
    args,
    result,
    resultClass: event.text_class ?? null,
    failed: event.failed ?? null,
    novelCall,
    novelResult,
    sibling:
      isCancelled(event) ||
      (call !== undefined && last !== undefined && trail.batch === call.batch && isOfBatch(trail, call, last)),
  };
  const news = novelCall || novelResult;
  return {
    ...trail,
    open,
    steps: [...trail.steps.slice(1 - mostSteps), step],
    seenCalls: key === null ? trail.seenCalls : remember(trail.seenCalls, key),
    seenResults: result === null ? trail.seenResults : remember(trail.seenResults, result),
    tokensAtNews: news ? trail.tokens : trail.tokensAtNews,
    replies: [],
    said: news ? [] : trail.said,
  };
}

/** Programs that run calls side by side cancel the others when one fails, and say so. */
const isCancelled = ({ text }: StepEvent): boolean =>
  typeof text === "string" && text.length < 300 && /sibling tool call errored/i.test(text);

/** Another call of the same batch was answered just before. */
const isOfBatch = (trail: StepTrail, call: OpenCall, last: Step): boolean =>
  last.event > call.event && trail.open.length > 0;

function findCall(open: readonly OpenCall[], event: StepEvent): number {
  if (open.length <= 1) return open.length - 1;
  const byId = event.id === undefined || event.id === null ? -1 : open.findIndex(({ id }) => id === event.id);
  if (byId >= 0) return byId;
  const byTool = open.findIndex(({ tool }) => tool === event.tool);
  return byTool >= 0 ? byTool : 0;
}

/** Who speaks matters: a person who says something new gives the agent a new start; a harness that says the same again does not. */
function hearMessage(trail: StepTrail, event: StepEvent): StepTrail {
  const wordless = isEmpty(event);
  const reply: Reply = {
    event: trail.events - 1,
    text: wordless ? null : (event.text_digest ?? null),
    textClass: wordless ? null : (event.text_class ?? null),
  };
  if (isOwnWord(event)) {
    return {
      ...trail,
      replies: [...trail.replies.slice(1 - mostReplies), reply],
      said: [...trail.said.slice(1 - mostReplies), reply],
      apiErrors: null,
    };
  }
  const again = reply.textClass !== null && reply.textClass === trail.lastHeard;
  return { ...trail, lastHeard: reply.textClass, ...(again ? {} : { replies: [] }) };
}

/** How the usual digests of no text at all begin: MD5, SHA-1, SHA-256. */
const emptyDigests = ["d41d8cd98f00", "da39a3ee5e6b", "e3b0c44298fc"];

const isEmpty = ({ text, text_digest: digest }: StepEvent): boolean =>
  (typeof text === "string" && text.trim() === "") || emptyDigests.some((empty) => digest?.startsWith(empty) === true);

function countApiError(trail: StepTrail, at: MonoMs): StepTrail {
  const { apiErrors } = trail;
  return {
    ...trail,
    apiErrors: apiErrors === null ? { times: 1, since: at } : { ...apiErrors, times: apiErrors.times + 1 },
  };
}
