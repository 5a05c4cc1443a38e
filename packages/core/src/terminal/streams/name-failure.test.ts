import { describe, expect, it } from "vitest";
import { nameFailure } from "./name-failure.ts";

/** Friday, 15 January 2027, 08:00 UTC. */
const clock = { now: 1_800_000_000_000, utcOffset: 0 };

const limits = (message: string) => {
  const failure = nameFailure(message, "error", clock);
  return failure.kind === "rate-limited" ? failure.resetsInMs : failure.kind;
};

describe("an error of a program or its provider", () => {
  it("is a wait when the provider puts the agent off, as long as it says", () => {
    expect(limits("Rate limit reached for gpt-5 in organization org-1. Please try again in 1.2s.")).toBe(1200);
    expect(limits("You've hit your usage limit. Upgrade or try again in 3 days 4 hours 5 minutes.")).toBe(273_900_000);
    expect(limits("You've hit your usage limit. Try again at Jan 15th, 2027 9:30 AM.")).toBe(5_400_000);
    expect(limits("You exceeded your current quota. Please retry in 34.07s.")).toBe(34_070);
    expect(limits("exceeded retry limit, last status: 429 Too Many Requests, request id: 1")).toBeNull();
    expect(limits('got status: 429. {"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}')).toBeNull();
    expect(limits("API Error: 429 rate_limit_error")).toBeNull();
    expect(limits("Claude usage limit reached.")).toBeNull();
    expect(limits("503: The model is overloaded. Please try again later.")).toBeNull();
  });

  it("is no wait when it only mentions such words", () => {
    for (const message of [
      "429 tests failed",
      "cannot open src/rate limit.ts",
      "Module not found: ./rate-limit",
      "line 429: unexpected token",
      "status.ts:429 is not a function",
      "usage limits are described in the manual",
      "the overloaded operator has no definition",
    ])
      expect(limits(message), message).toBe("error");
  });

  it("does not believe a wait that no plan has", () => {
    expect(limits("Rate limit reached. Try again in 999999999 days")).toBeNull();
    expect(limits("Rate limit reached. Try again in 6 days")).toBe(6 * 86_400_000);
  });

  it("is the end of the context when the conversation has become too long", () => {
    expect(limits("Prompt is too long")).toBe("context-limit");
    expect(limits("Codex ran out of room in the model's context window. Start a new thread.")).toBe("context-limit");
    expect(limits("context_length_exceeded: your input exceeds the context window of this model")).toBe(
      "context-limit",
    );
  });

  it("is otherwise told masked, and the same error twice has one digest", () => {
    const first = nameFailure("connect ECONNREFUSED 10.0.0.7:4318 after 120 ms", "error", clock);
    const second = nameFailure("connect ECONNREFUSED 10.0.0.9:4319 after 95 ms", "error", clock);
    expect(first.kind).toBe("error");
    expect(second).toEqual(first);
    expect(JSON.stringify(first)).not.toContain("10.0.0.7");
  });
});
