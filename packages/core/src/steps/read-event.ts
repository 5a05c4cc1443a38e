import type { StepEvent } from "@rouse/contract";
import { digestOf } from "../terminal/mask-text.ts";

/**
 * The call never ran: programs that run calls side by side cancel the others when one fails, and a person who is asked may say no. Both are told in the result's
 * first words; where text is not kept, whoever read it says so.
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

/** How the digests of no text at all begin: our own, and the usual MD5, SHA-1, SHA-256. */
const emptyDigests = [digestOf(""), "d41d8cd98f00", "da39a3ee5e6b", "e3b0c44298fc"];

/** Says nothing. */
export const isBlank = ({ text, text_digest: digest }: StepEvent): boolean =>
  (typeof text === "string" && text.trim() === "") ||
  (typeof digest === "string" && emptyDigests.some((empty) => digest.startsWith(empty)));
