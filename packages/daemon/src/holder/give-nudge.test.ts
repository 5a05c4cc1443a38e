import type { AgentInput } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { giveNudges } from "./give-nudge.ts";
import { nudgeByHook } from "./program/nudge-by-hook.ts";
import { nudgeBySteer } from "./program/nudge-by-steer.ts";
import type { Nudge } from "./type-nudge.ts";

function reach(input: () => AgentInput) {
  const hooks = nudgeByHook();
  const steer = nudgeBySteer(
    () => null,
    () => {},
    () => {},
  );
  const written: string[] = [];
  const slot = {
    over: () => false,
    midLine: () => false,
    longest: 10_000,
    gave: () => {},
    deliver: async (bytes: Buffer) => written.push(bytes.toString()) > 0,
  };
  return { ...giveNudges({ input, hooks, steer, slot, keyboard: null }), hooks, written };
}

const nudge = (id: string): Nudge => ({
  id,
  text: "go on",
  whenIdle: false,
  notAfter: Date.now() + 60_000,
  begin: () => true,
});

it("a nudge whose way into a turn was closed is typed, if there is something to type into", async () => {
  expect(await reach(() => "steer").give(nudge("n1"))).toEqual({ kind: "not-sent", because: "no-input" });
});

describe("a nudge that is withdrawn", () => {
  it("behind another that waits for a hook is not given after it", async () => {
    const { give, withdraw, hooks } = reach(() => "hook");
    const first = give(nudge("n1"));
    const second = give(nudge("n2"));
    withdraw("n2");
    await Promise.resolve();
    hooks.heard("PostToolBatch").answer?.written?.(true);
    expect(await first).toEqual({ kind: "sent", channel: "hook", echoed: false });
    expect(await second).toEqual({ kind: "not-sent", because: "expired" });
  });

  it("right before it would begin is not begun", async () => {
    const { give, withdraw, written } = reach(() => {
      withdraw("n1");
      return "stdin";
    });
    expect(await give(nudge("n1"))).toEqual({ kind: "not-sent", because: "no-input" });
    expect(written).toEqual([]);
  });
});
