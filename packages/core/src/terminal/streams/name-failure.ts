import type { Question, Sight } from "@rouse/contract";
import { digestOf, maskDetails } from "../mask-text.ts";
import { findReset } from "../read-reset.ts";
import type { WallClock } from "../reading.ts";

type Failure = Extract<Sight, { kind: "rate-limited" | "context-limit" | "error" }>;

/** Phrases of providers and programs about themselves. "429" alone may count tests, "rate limit" may name a file. */
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

/** The cause stands at the beginning; the rest is often the body of a request. */
const longestMessage = 4000;

/** What an error of a program or its provider means. Applied only to errors, never to what an agent says. */
export function nameFailure(message: string, pattern: string, clock: WallClock): Failure {
  const text = message.slice(0, longestMessage);
  const limit = putOff.find(([, phrase]) => phrase.test(text));
  if (limit !== undefined)
    return { kind: "rate-limited", pattern: limit[0], ...(findReset(text, clock) ?? { resetsInMs: null }) };
  if (contextFull.test(text)) return { kind: "context-limit", pattern };
  const masked = maskDetails(text);
  return { kind: "error", pattern, digest: digestOf(masked), text: masked };
}

/** The same for a place where only the program itself can write. */
export function nameOwnFailure(message: string, pattern: string, clock: WallClock): Failure {
  const failure = nameFailure(message, pattern, clock);
  return failure.kind === "rate-limited" ? { ...failure, by: "stream" } : failure;
}

type Asks = Omit<Extract<Sight, { kind: "asks" }>, "wokenBy">;

/** A request that the provider refuses until a person sees to the account. Retries do not help. */
export interface Refusal {
  readonly asks: Asks;
  /** Why the turn failed. */
  readonly reason: string;
}

const needs: Readonly<Record<string, Question>> = {
  401: "login",
  403: "login",
  authentication_failed: "login",
  oauth_org_not_allowed: "login",
  402: "credits",
  billing_error: "credits",
};

/** What a person is needed for after such a failure; `null`: for nothing. */
export function needOf(failure: string | number | null): Asks | null {
  const what = failure === null || !Object.hasOwn(needs, failure) ? undefined : needs[failure];
  return what === undefined ? null : { kind: "asks", what, pattern: `api ${failure}` };
}

/** "unexpected status 401 Unauthorized: …" of Codex, `[API Error: {"error":{"code":401,…}}]` of Gemini CLI. */
const statuses = /\bunexpected status (\d{3})\b|^\[API Error: \{"error":\{"code": ?(\d{3})\b/;

/** Some providers refuse a key with an unspecific status. */
const notLetIn =
  /\bAPI key not valid\b|\bAPI_KEY_INVALID\b|\binvalid x-api-key\b|\bIncorrect API key provided\b|\bYour access token could not be refreshed\b/i;

/** The status that the program's words name. */
export function statusIn(message: string): number | null {
  const [, ...named] = statuses.exec(message) ?? [];
  const status = named.find((each) => each !== undefined);
  return status === undefined ? null : Number(status);
}

/** What an error says about the account. Applied only to errors, never to what an agent says. */
export function refusalIn(message: string, status: number | null = statusIn(message)): Refusal | null {
  const asks = needOf(status);
  if (asks !== null) return { asks, reason: `refused with ${status}` };
  const named = notLetIn.test(message) ? needOf("authentication_failed") : null;
  return named === null ? null : { asks: named, reason: "authentication_failed" };
}
