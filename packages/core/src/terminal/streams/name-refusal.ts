import type { Question, Sight } from "@rouse/contract";

type Asks = Omit<Extract<Sight, { kind: "asks" }>, "wokenBy">;

/** A request that its provider refuses until a person does something about the account. Trying again helps nobody. */
export interface Refusal {
  readonly asks: Asks;
  /** Why the turn failed that it ends. */
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

/** What a person is needed for when a request failed so; `null` for every other failure. */
export function needOf(failure: string | number | null): Asks | null {
  const what = failure === null || !Object.hasOwn(needs, failure) ? undefined : needs[failure];
  return what === undefined ? null : { kind: "asks", what, pattern: `api ${failure}` };
}

/** "unexpected status 401 Unauthorized: …" of Codex, `[API Error: {"error":{"code":401,…}}]` of Gemini CLI. */
const statuses = /\bunexpected status (\d{3})\b|^\[API Error: \{"error":\{"code": ?(\d{3})\b/;

/** Some refuse a key with a status that means anything. */
const notLetIn =
  /\bAPI key not valid\b|\bAPI_KEY_INVALID\b|\binvalid x-api-key\b|\bIncorrect API key provided\b|\bYour access token could not be refreshed\b/i;

/** The status of a request that failed, where its program's words name it. */
export function statusIn(message: string): number | null {
  const [, ...named] = statuses.exec(message) ?? [];
  const status = named.find((each) => each !== undefined);
  return status === undefined ? null : Number(status);
}

/** What an error of a program or its provider says about the account. Never applied to what an agent says, only to what failed it. */
export function refusalIn(message: string, status: number | null = statusIn(message)): Refusal | null {
  const asks = needOf(status);
  if (asks !== null) return { asks, reason: `refused with ${status}` };
  const named = notLetIn.test(message) ? needOf("authentication_failed") : null;
  return named === null ? null : { asks: named, reason: "authentication_failed" };
}
