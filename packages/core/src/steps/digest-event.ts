import type { StepEvent } from "@rouse/contract";
import { classOfText } from "../terminal/class-of-text.ts";
import { cut, digestOf } from "../terminal/mask-text.ts";
import { isBlank, isCancelled } from "./read-event.ts";

/** What is kept of a text where text is kept at all. */
const longestKept = 300;

/**
 * The event without its content: digests stand for arguments and text, and what is read off a text is said by itself. Digests that were sent are
 * believed, those missing are made here, before anything is kept. One that is `null` was left out on purpose: it stays unknown.
 */
export function digestEvent(event: StepEvent, keepsText: boolean): StepEvent {
  const { args, text, at: _, step: __, ...rest } = event;
  const digested: StepEvent = withoutNulls(rest);
  if (typeof args === "string" && event.args_digest === undefined) digested.args_digest = digestOf(args);
  if (typeof text === "string") {
    if (event.text_digest === undefined) digested.text_digest = digestOf(text);
    if (event.text_class === undefined) digested.text_class = classOfText(text);
    if (event.kind === "message" && isBlank(event)) digested.text_digest = emptyDigest;
  }
  if (isCancelled(event)) digested.cancelled = true;
  if (!keepsText) return digested;
  if (typeof args === "string") digested.args = cut(args, longestKept);
  if (typeof text === "string") digested.text = cut(text, longestKept);
  return digested;
}

const emptyDigest = digestOf("");

/** Absent and `null` both mean "not recorded"; absent is shorter. */
function withoutNulls<T extends object>(event: T): T {
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== null && value !== undefined)) as T;
}
