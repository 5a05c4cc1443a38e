import { describe, expect, it } from "vitest";
import { containAgent } from "../nudge/contain-agent.ts";
import type { ContainOrder } from "../protocol/messages.ts";
import { withholdTool } from "./listen-for-hooks.ts";
import { nudgeByHook } from "./nudge-by-hook.ts";
import { nudgeBySteer } from "./nudge-by-steer.ts";

const contain = () =>
  containAgent({
    family: () => "claude-code",
    ways: {
      input: () => "none",
      hooks: nudgeByHook(),
      steer: nudgeBySteer(
        () => null,
        () => {},
        () => {},
      ),
      slot: { over: () => false, midLine: () => false, longest: 0, deliver: async () => false, gave: () => {} },
      keyboard: null,
    },
    hooksOpen: () => true,
    over: () => false,
    now: Date.now,
  });

const order = (how: ContainOrder["how"], decidedAt: number): ContainOrder => ({
  kind: "contain",
  how,
  reason: "handed to a person",
  decidedAt,
  lastsMs: 60_000,
});

const before = "PreToolUse";

const decision = (permissionDecision: string) => ({
  body: {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision,
      permissionDecisionReason: "handed to a person",
    },
  },
});

describe("a tool", () => {
  it("is not withheld from one that is not held back", () => {
    expect(withholdTool(before, contain(), false)).toBeNull();
    expect(withholdTool(before, contain(), true)).toBeNull();
  });

  it("is withheld before it is used: what is told of it later is heard as ever", async () => {
    const containment = contain();
    await containment.obey(order("pause", 1));
    for (const event of ["PostToolUse", "PostToolBatch", "Stop"])
      expect([withholdTool(event, containment, true), withholdTool(event, containment, false)]).toEqual([null, null]);
  });

  it("is asked about at once where somebody sits at the terminal", async () => {
    const containment = contain();
    await containment.obey(order("pause", 1));
    expect(withholdTool(before, containment, true)).toEqual(decision("ask"));
  });

  it("waits where nobody can be asked, and is used after all when its agent is let go", async () => {
    const containment = contain();
    await containment.obey(order("pause", 1));
    const answer = withholdTool(before, containment, false);
    await containment.obey(order("let-go", 2));
    expect(await answer).toEqual({ body: {} });
  });

  it("is denied when its program would not wait any longer", async () => {
    const containment = contain();
    await containment.obey(order("pause", 1));
    expect(await withholdTool(before, containment, false, 5)).toEqual(decision("deny"));
  });
});
