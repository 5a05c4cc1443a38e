import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { confirmLimits, wouldTellLimits } from "./confirm-limits.ts";

const minute = 60_000;
const words: Sight = { kind: "rate-limited", pattern: "claude-limit-hit", resetsInMs: 30 * minute, what: "usage" };
const continues: Sight = { ...words, pattern: "claude-continues", continues: true };
const byFile: Sight = { kind: "rate-limited", pattern: "rate_limit", resetsInMs: 29 * minute, what: "usage" };
const output: Sight = { kind: "output", rows: 1, novel: 1 };

describe("a usage limit that a screen shows", () => {
  it("of a conversation that was taken up again is none: its program tells of no such limit", () => {
    const limits = confirmLimits();
    expect(limits.shown([output, words, continues], true, 0)).toEqual([output]);
    expect(limits.told([{ kind: "model-asked" }], 1000)).toEqual([]);
    // A limit of an hour later says nothing about words of an hour before.
    expect(limits.told([byFile], 60 * minute)).toEqual([]);
  });

  it("counts with what its program tells of it, whichever comes first, and by the time that is left then", () => {
    const limits = confirmLimits();
    limits.shown([continues], true, 0);
    expect(limits.told([byFile], 5000)).toEqual([{ ...continues, resetsInMs: 30 * minute - 5000 }]);
    expect(limits.told([byFile], 6000)).toEqual([]);
    expect(limits.shown([words], true, 7000)).toEqual([words]);
  });

  it("counts by itself where no eye would tell, as does every other kind of refusal", () => {
    expect(confirmLimits().shown([words], false, 0)).toEqual([words]);
    const busy: Sight = { kind: "rate-limited", pattern: "claude-api-529", resetsInMs: null, what: "overloaded" };
    expect(confirmLimits().shown([busy], true, 0)).toEqual([busy]);
  });

  it("would be told by the hooks or the file of Claude Code and Codex, while they are open", () => {
    const file = (sees: boolean) => [{ eye: "session-file", sees, because: null } as const];
    expect(wouldTellLimits("claude-code", [{ eye: "hooks", sees: true, because: null }])).toBe(true);
    expect(wouldTellLimits("codex", file(true))).toBe(true);
    expect(wouldTellLimits("codex", file(false))).toBe(false);
    expect(wouldTellLimits("opencode", file(true))).toBe(false);
    expect(wouldTellLimits("codex", [{ eye: "screen", sees: true, because: null }])).toBe(false);
  });
});
