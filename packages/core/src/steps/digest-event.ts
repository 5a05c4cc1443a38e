import type { StepEvent } from "@rouse/contract";
import { classOfText, cut, digestOf } from "../terminal/mask-text.ts";

/** How much of a text is kept where text is kept at all. */
const longestKept = 300;

/**
 * The event without its content: digests stand for arguments and text. Digests that were sent are believed and missing
 * ones are made here, before anything is kept. A digest that is `null` was left out on purpose and stays unknown.
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

/**
 * The call never ran: a failing sibling cancelled it, or a person refused it. The first words of the result tell; where
 * text is not kept, `cancelled` does.
 */
export const isCancelled = ({ cancelled, failed, text }: StepEvent): boolean =>
  cancelled === true || (failed !== false && typeof text === "string" && saysCancelled.test(text.slice(0, 200)));

const saysCancelled = new RegExp(
  [
    "sibling tool call errored",
    "user doesn't want to (?:proceed with|take) this",
    "request interrupted by user",
    "(?:rejected|denied|declined|cancelled) by (?:the )?user",
    "user (?:rejected|denied|declined|did not allow|chose not to)",
  ].join("|"),
  "i",
);

/** How the digests of an empty text begin: our own, MD5, SHA-1 and SHA-256. */
const emptyDigests = [digestOf(""), "d41d8cd98f00", "da39a3ee5e6b", "e3b0c44298fc"];

/** Whether the message has no words. */
export const isBlank = ({ text, text_digest: digest }: StepEvent): boolean =>
  (typeof text === "string" && text.trim() === "") ||
  (typeof digest === "string" && emptyDigests.some((empty) => digest.startsWith(empty)));
