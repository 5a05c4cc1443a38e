import { days, minutes } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { codexSays } from "./make-quota.test-support.ts";
import { askClaude, askCodex } from "./read-quota.ts";

const now = Date.UTC(2026, 10, 17);
const inSeconds = (ms: number): number => (now + ms) / 1000;
const iso = (ms: number): string => new Date(now + ms).toISOString();
const unknown = (because: string) => ({ kind: "unknown", because });
const usedUp = (resetsInMs: number | null) => ({ kind: "used-up", resetsInMs });
const free = { kind: "free" };

describe("what Codex answers", () => {
  /** What is concluded after each line. */
  function hears(...lines: readonly object[]): unknown[] {
    const listener = askCodex.listen();
    return lines.map((line) => listener(line, now));
  }

  const login = { authMethod: "chatgpt", requiresOpenaiAuth: true };
  /** The end of a conversation with such a login, and these limits. */
  const judged = (result: unknown, who: object = login): unknown =>
    hears({ id: 2, result: who }, { id: 3, result }).at(-1);
  const limits = (rateLimits: object, allowed: boolean | null = null) => ({
    ordinaryUsageAllowed: allowed,
    rateLimits,
  });
  const full = (resetsAt: number | null) => ({ usedPercent: 100, resetsAt });

  it("is complete when both the login and the limits are told, in whichever order", () => {
    const { replies } = codexSays(12, null);
    const [first, second, third] = [1, 2, 3].map((id) => ({ id, ...replies[id] }));
    expect(hears(first ?? {}, second ?? {}, third ?? {})).toEqual([null, null, free]);
    expect(hears(third ?? {}, first ?? {}, second ?? {})).toEqual([null, null, free]);
  });

  it("counts the first time it is told", () => {
    const told = { id: 3, result: limits({ primary: full(inSeconds(minutes(5))) }) };
    const taken = { id: 3, result: limits({ primary: { usedPercent: 1, resetsAt: null } }) };
    expect(hears(told, taken, { id: 2, result: login })).toEqual([null, null, usedUp(minutes(5))]);
    expect(hears({ id: 2, result: login }, { id: 2, result: {} }, told)).toEqual([null, null, usedUp(minutes(5))]);
  });

  it("says nothing of an account that is not the one of ChatGPT, or not used", () => {
    const told = limits({ primary: full(inSeconds(60)) });
    expect(judged(told, { authMethod: "apikey", requiresOpenaiAuth: true })).toEqual(unknown("another-account"));
    expect(judged(told, { authMethod: "chatgpt", requiresOpenaiAuth: false })).toEqual(unknown("another-account"));
    expect(hears({ id: 2, error: { code: 1 } }, { id: 3, result: told }).at(-1)).toEqual(unknown("no-answer"));
  });

  it("is used up from a hundred percent on, in either window", () => {
    const week = full(inSeconds(days(2)));
    expect(judged(limits({ primary: { usedPercent: 99.9, resetsAt: 1 }, secondary: null }))).toEqual(free);
    expect(judged(limits({ primary: null, secondary: week }))).toEqual(usedUp(days(2)));
    expect(judged(limits({ primary: null, secondary: { ...week, usedPercent: 104 } }))).toEqual(usedUp(days(2)));
  });

  it("has no end that anybody could name when one of two full windows has none", () => {
    const primary = full(inSeconds(minutes(5)));
    expect(judged(limits({ primary, secondary: full(null) }))).toEqual(usedUp(null));
  });

  it("is not believed when the end of any full window cannot be", () => {
    const primary = full(inSeconds(minutes(5)));
    expect(judged(limits({ primary, secondary: full(inSeconds(days(9))) }))).toEqual(unknown("nonsense"));
    expect(judged(limits({ primary, secondary: full(inSeconds(-1)) }))).toEqual(unknown("nonsense"));
    expect(judged(limits({ primary, secondary: { usedPercent: 3, resetsAt: 1 } }))).toEqual(usedUp(minutes(5)));
  });

  it("may be used without end by whoever pays for that", () => {
    const primary = full(inSeconds(60));
    const pays = (hasCredits: boolean, unlimited: boolean) => limits({ primary, credits: { hasCredits, unlimited } });
    expect(judged(pays(true, false))).toEqual(unknown("pays-for-more"));
    expect(judged(pays(false, true))).toEqual(unknown("pays-for-more"));
    expect(judged(pays(false, false))).toEqual(usedUp(60));
  });
});

describe("what Claude Code answers", () => {
  const line = (response: object) => ({ type: "control_response", response });
  const hears = (response: object): unknown => askClaude.listen()(line(response), now);
  const judged = (rate_limits: unknown, rate_limits_available = true): unknown => {
    const response = { rate_limits_available, rate_limits };
    return hears({ request_id: "rouse-quota", subtype: "success", response });
  };
  const full = { utilization: 100, resets_at: iso(minutes(5)) };

  it("is no answer to a question of somebody else, and none when it is refused", () => {
    const response = { rate_limits_available: true, rate_limits: { five_hour: full } };
    expect(hears({ request_id: "another", subtype: "success", response })).toBeNull();
    expect(hears({ request_id: "rouse-quota", subtype: "error", response })).toEqual(unknown("no-answer"));
    expect(hears({ request_id: "rouse-quota", subtype: "success", response: "x" })).toEqual(unknown("nonsense"));
  });

  it("is used up in either window, and free where a window tells nothing", () => {
    expect(judged({ five_hour: null, seven_day: full })).toEqual(usedUp(minutes(5)));
    expect(judged({ five_hour: { utilization: null, resets_at: null }, seven_day: null })).toEqual(free);
    expect(judged({})).toEqual(free);
  });

  it("has no end that anybody could name when a full window has none", () => {
    expect(judged({ five_hour: full, seven_day: { ...full, resets_at: null } })).toEqual(usedUp(null));
  });

  it("says nothing of an account without such limits, whatever stands beside that", () => {
    expect(judged({ five_hour: full }, false)).toEqual(unknown("another-account"));
  });

  it("may be used further by whoever pays for more, and only by them", () => {
    const extra = (is_enabled: boolean, utilization: number | null) => ({
      five_hour: full,
      extra_usage: { is_enabled, utilization },
    });
    expect(judged(extra(true, null))).toEqual(unknown("pays-for-more"));
    expect(judged(extra(false, 20))).toEqual(usedUp(minutes(5)));
    expect(judged(extra(true, 100))).toEqual(usedUp(minutes(5)));
  });
});
