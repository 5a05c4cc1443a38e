import type { AgentInput } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { nudgeByHook } from "../program/nudge-by-hook.ts";
import { nudgeBySteer } from "../program/nudge-by-steer.ts";
import { giveNudges, type MessageSlot } from "./give-nudge.ts";
import type { Nudge } from "./type-nudge.ts";

function reach(input: () => AgentInput, over: Partial<MessageSlot> = {}) {
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
    ...over,
  };
  return { ...giveNudges({ input, hooks, steer, slot, keyboard: null }), hooks, written };
}

const nudge = (id: string, over: Partial<Nudge> = {}): Nudge => ({
  id,
  text: "go on",
  whenIdle: false,
  notAfter: Date.now() + 60_000,
  begin: () => true,
  ...over,
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

describe("a nudge for an agent that reads messages", () => {
  it("is a line of its own", async () => {
    const { give, written } = reach(() => "stdin");
    expect(await give(nudge("n1"))).toEqual({ kind: "sent", channel: "stdin", echoed: false });
    expect(written.map((line) => JSON.parse(line))).toMatchObject([{ type: "user" }]);
    expect(written[0]?.endsWith("}\n")).toBe(true);
  });

  it.each<[string, Partial<MessageSlot>, Partial<Nudge>, string]>([
    ["into one that is over", { over: () => true }, {}, "over"],
    ["after its time", {}, { notAfter: 0 }, "expired"],
    ["in two pieces, which nobody could read", { longest: 20 }, {}, "no-input"],
    ["into the middle of somebody's line", { midLine: () => true }, {}, "half-typed"],
    ["when it could not be written down first", {}, { begin: () => false }, "no-input"],
  ])("is not written %s", async (_, slot, over, because) => {
    const { give, written } = reach(() => "stdin", slot);
    expect(await give(nudge("n1", over))).toEqual({ kind: "not-sent", because });
    expect(written).toEqual([]);
  });

  it("was not sent when its pipe is shut", async () => {
    const { give } = reach(() => "stdin", { deliver: async () => false });
    expect(await give(nudge("n1"))).toEqual({ kind: "not-sent", because: "no-input" });
  });
});

it("a nudge by hook is not waited with for an agent that is over, and one that nothing reaches says so", async () => {
  const over = reach(() => "hook", { over: () => true });
  expect(await over.give(nudge("n1"))).toEqual({ kind: "not-sent", because: "over" });
  expect(await reach(() => "none").give(nudge("n1"))).toEqual({ kind: "not-sent", because: "no-input" });
  expect(await reach(() => "terminal").give(nudge("n1"))).toEqual({ kind: "not-sent", because: "no-input" });
});
