import type { Sight } from "@rouse/contract";
import { digestOf, maskDetails } from "../mask-text.ts";
import { findReset } from "../read-reset.ts";
import type { WallClock } from "../reading.ts";

type Failure = Extract<Sight, { kind: "rate-limited" | "context-limit" | "error" }>;

/** Each phrase is what a provider or program says of itself. "429" alone may be a number of tests, "rate limit" the name of a file. */
const putOff: readonly (readonly [string, RegExp])[] = [
  ["usage limit", /\busage limit (?:has been )?(?:reached|exceeded)\b|\b(?:hit|reached) your (?:usage )?limit\b/i],
  ["rate limit", /\brate limits? (?:reached|exceeded|hit)\b|\brate.limited\b|\brate_limit_(?:error|exceeded)\b/i],
  ["rate limit", /\b(?:hit|reached|exceeded) (?:your|the|a) (?:\w+ )?rate limit\b|\brateLimitExceeded\b/i],
  [
    "quota",
    /\bRESOURCE_EXHAUSTED\b|\bquota exceeded\b|\bexceeded your (?:current |daily )?quota\b|\bexhausted your \w+ quota\b/i,
  ],
  ["429", /\b429 too many requests\b|\b(?:status|code|http|api error)\W{1,4}(?:code\W{1,4})?429\b/i],
  ["overloaded", /\boverloaded_error\b|\bmodel is (?:currently )?overloaded\b|\bAPI Error:? 529\b/i],
];

const contextFull =
  /\bprompt is too long\b|\bcontext_length_exceeded\b|\bexceeds? (?:the|this model's) (?:maximum )?context (?:window|length|limit)\b|\bran out of room in the model's context window\b/i;

/** Causes stand at the beginning; the rest is often the body of a request. */
const longestMessage = 4000;

/** What an error of a program or its provider means. Never applied to what an agent says, only to what failed it. */
export function nameFailure(message: string, pattern: string, clock: WallClock): Failure {
  const text = message.slice(0, longestMessage);
  const limit = putOff.find(([, phrase]) => phrase.test(text));
  if (limit !== undefined)
    return { kind: "rate-limited", pattern: limit[0], ...(findReset(text, clock) ?? { resetsInMs: null }) };
  if (contextFull.test(text)) return { kind: "context-limit", pattern };
  const masked = maskDetails(text);
  return { kind: "error", pattern, digest: digestOf(masked), text: masked };
}

/** The same of what the program itself says in a place where no agent can write. */
export function nameOwnFailure(message: string, pattern: string, clock: WallClock): Failure {
  const failure = nameFailure(message, pattern, clock);
  return failure.kind === "rate-limited" ? { ...failure, by: "stream" } : failure;
}
