import { describe, expect, it } from "vitest";
import { endOfTool, isAnothersFault, noToolsSeen, type ToolsSeen } from "./all-tools.ts";
import type { BreakerRules } from "./breaker.ts";

const rules: BreakerRules = { failureThreshold: 5, recoveryTimeout: 30_000, halfOpenRequests: 1 };

/** Calls one after the other, such as `a-` for one of `a` that failed, `b+` for one that went well; a number passes so many ms. */
function after(...story: (string | number)[]) {
  let seen: ToolsSeen = noToolsSeen;
  let now = 1_000_000;
  let counted = 0;
  for (const one of story) {
    if (typeof one === "number") {
      now += one;
      continue;
    }
    const end = one.endsWith("-") ? "failed" : one.endsWith("+") ? "succeeded" : "aborted";
    const ended = endOfTool(seen, { tool: one.slice(0, -1), end, now }, rules);
    seen = ended.seen;
    if (ended.end === "failed") counted += 1;
  }
  return { counted, seen };
}

describe("the breaker of all tools", () => {
  it.each([
    ["counts the failures of the only tool", 3, ["a-", "a-", "a-"]],
    ["counts none of one tool beside another that is used", 0, ["b+", "a-", "a-", "a-"]],
    ["nor beside one whose call was broken off", 0, ["b?", "a-", "a-"]],
    ["counts those of one tool once a second has failed, too", 3, ["c+", "a-", "a-", "b-", "a-", "b-"]],
    ["begins anew with a call of any that goes well", 2, ["a-", "b-", "c+", "a-", "a-"]],
    ["takes a tool for the only one when the others were last used long ago", 2, ["b+", "a-", 300_000, "a-", "a-"]],
    ["knows of a tool that is used again and again", 0, ["b+", 200_000, "b+", 200_000, "a-", "a-"]],
    ["knows of another tool, however often one is called", 0, ["b+", 60_000, ...Array(50).fill("a-")]],
    ["says nothing of a failure of long ago", 1, ["a-", 200_000, "a?", 150_000, "b-"]],
  ] as const)("%s", (_, counted, story) => {
    expect(after(...story).counted).toBe(counted);
  });

  it("remembers two names each, however many tools there are", () => {
    const many = Array.from({ length: 500 }, (_, i) => [`tool-${i}-`, 40_000]).flat();
    const { used, failed } = after(...many).seen;
    expect([used.length, failed.length]).toEqual([2, 2]);
  });

  it("knows whether all that failed is another tool", () => {
    const { seen } = after("a-", "a-");
    expect([isAnothersFault(seen, "a"), isAnothersFault(seen, "b")]).toEqual([false, true]);
    expect(isAnothersFault(after("a-", "b-").seen, "c")).toBe(false);
    expect(isAnothersFault(noToolsSeen, "c")).toBe(false);
  });
});
