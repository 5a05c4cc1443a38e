import type { ContainOutcome, PartialSettings } from "@rouse/contract";
import { overlay } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { goesQuiet, repeatsError } from "../ladder-story.test-support.ts";

/** Nobody is nudged or stopped, and after a minute without an answer the agent is handed to a person. */
const soon: PartialSettings = {
  mode: "assist",
  intervention: { nudge: { enabled: false }, escalation: { timeout_seconds: 60 } },
};
const by = (contain: "none" | "pause" | "interrupt"): PartialSettings => ({ intervention: { contain } });

function calls(held: HeldStory, what: string, failed: boolean): void {
  const id = `call-${held.agent.now}`;
  held.shows({ kind: "tool-started", id, name: "Bash", argsDigest: what, timeoutSeconds: null });
  held.shows({ kind: "tool-ended", id, failed, resultDigest: what, resultClass: what });
  held.passes("5s");
}

/** The same call fails the same way, every five seconds. */
function loops(held: HeldStory, times: number): void {
  for (let n = 0; n < times; n++) calls(held, "same", true);
}

/** Calls that each bring something new. */
function worksOn(held: HeldStory, times: number): void {
  for (let n = 0; n < times; n++) calls(held, `new-${n}`, false);
}

/** The agent goes in circles until it is handed to a person, who does not come. */
function isHandedOver(given: HeldGiven = {}): HeldStory {
  const hold = { structured: true, input: "none", family: "claude-code", ...given.hold } as const;
  const held = heldStory({ ...given, settings: overlay(soon, given.settings ?? {}), hold });
  for (let n = 0; n < 100 && held.agent.record.ladder.handedOver === null; n++) loops(held, 1);
  expect(held.agent.record.ladder.handedOver).toMatchObject({ illness: "STUCK", asked: false });
  held.passes("1s");
  return held;
}

const orders = ({ agent }: HeldStory) => agent.did("contain-agent");
const ways = (held: HeldStory) => orders(held).map(({ how }) => how);

/** The hands answer the last order. */
function answers(held: HeldStory, outcome: ContainOutcome): void {
  held.handsAnswer(orders(held).at(-1)?.key ?? "none", { kind: "contain", outcome });
}

/** The agent is handed over, still in circles, and held back. */
function isContained(given: HeldGiven = {}): HeldStory {
  const held = isHandedOver(given);
  loops(held, 3);
  answers(held, { kind: "contained" });
  return held;
}

describe("an agent that goes on in circles after it was handed to a person", () => {
  it("is not held back anew while everything is frozen", () => {
    const thawed = isContained();
    thawed.passes("35m");
    expect(orders(thawed).length).toBe(2);
    const frozen = isContained();
    frozen.agent.monitorDoubts({ frozen: true });
    frozen.passes("35m");
    expect(orders(frozen).length).toBe(1);
  });

  it("is held back by its hooks after its third call, once, and that is told with what it had spent", () => {
    const held = isHandedOver();
    loops(held, 2);
    expect(orders(held)).toEqual([]);
    loops(held, 1);
    expect(orders(held)).toMatchObject([
      { agentId: "worker-1", incarnation: 1, how: "pause", key: "worker-1/1/contain/1", lasts: 3_600_000 },
    ]);
    expect(held.agent.told("AGENT_CONTAINED")).toEqual([]);
    answers(held, { kind: "contained" });
    loops(held, 20);
    expect(held.agent.told("AGENT_CONTAINED")).toEqual([
      { agentId: "worker-1", incident: "worker-1/1", how: "pause", calls: 3 },
    ]);
    expect(orders(held)).toHaveLength(1);
  });

  it("is not known to be held back by the answer to another order, such as that it was let go before", () => {
    const held = isContained({ hold: { input: "stdin" } });
    held.agent.isNudgedBy("operator", "try the other branch");
    const letGo = orders(held).at(-1)?.key ?? "none";
    loops(held, 12);
    expect(ways(held)).toEqual(["pause", "let-go", "pause"]);
    held.handsAnswer(letGo, { kind: "contain", outcome: { kind: "let-go" } });
    expect(held.agent.record.ladder.containment?.state).toBe("ordered");
    answers(held, { kind: "not-contained", because: "no-hooks" });
    expect(held.agent.told("AGENT_NOT_CONTAINED")).toMatchObject([{ because: "no-hooks" }]);
  });

  it("is given a reason that states facts and holds nothing that an agent wrote", () => {
    const [order] = orders(isContained());
    expect(order?.reason).toMatch(
      /^Rouse, which watches this session, has handed it to a person: the same call with the same result \d+ times, and no edit was seen in between\. Tool calls are withheld until a person has looked at it\.$/,
    );
  });

  it("is not held back again where that was refused: why is told, and the alert stands", () => {
    const held = isHandedOver();
    loops(held, 3);
    answers(held, { kind: "not-contained", because: "no-hooks" });
    loops(held, 50);
    expect(ways(held)).toEqual(["pause"]);
    expect(held.agent.told("AGENT_NOT_CONTAINED")).toEqual([
      { agentId: "worker-1", incident: "worker-1/1", how: "pause", because: "no-hooks" },
    ]);
    expect(held.agent.record.health.alert).toMatchObject({ severity: "critical" });
  });

  it("is interrupted where its policy says so, and never twice", () => {
    const held = isContained({ settings: by("interrupt") });
    expect(ways(held)).toEqual(["interrupt"]);
    held.agent.isNudgedBy("operator", "try the other branch");
    loops(held, 50);
    held.passes("2h");
    expect(ways(held)).toEqual(["interrupt"]);
    expect(held.agent.told("AGENT_LET_GO")).toEqual([]);
  });

  it("is ordered to pause anew before the pause ends by itself, for as long as it is wanted, and that is no news", () => {
    const held = isContained();
    held.passes("29m");
    expect(orders(held)).toHaveLength(1);
    held.passes("1m");
    expect(orders(held).at(-1)).toMatchObject({ how: "pause", key: "worker-1/1/contain/2" });
    answers(held, { kind: "contained" });
    held.passes("30m");
    expect(orders(held)).toHaveLength(3);
    expect(held.agent.told("AGENT_CONTAINED")).toHaveLength(1);
  });
});

describe("an agent that is held back is let go", () => {
  const letGo = (held: HeldStory) => held.agent.told("AGENT_LET_GO").map(({ because }) => because);

  it("when it is well: it has done something new", () => {
    const held = isContained();
    worksOn(held, 12);
    expect(held.agent.record.ladder.handedOver).toBeNull();
    expect(letGo(held)).toEqual(["no-longer-handed-over"]);
    expect(ways(held)).toEqual(["pause", "let-go"]);
    expect(orders(held)[1]?.decidedAt).toBeGreaterThan(orders(held)[0]?.decidedAt ?? 0);
    expect(held.agent.record.ladder.containment).toBeNull();
  });

  it("when a person speaks to it, and is held back again only for calls after that", () => {
    const held = isContained({ hold: { input: "stdin" } });
    held.agent.isNudgedBy("operator", "try the other branch");
    expect(letGo(held)).toEqual(["person"]);
    expect(ways(held)).toEqual(["pause", "let-go"]);
    loops(held, 2);
    expect(ways(held)).toEqual(["pause", "let-go"]);
    loops(held, 10);
    expect(ways(held)).toEqual(["pause", "let-go", "pause"]);
    expect(orders(held).at(-1)?.key).toBe("worker-1/1/contain/2");
  });

  it("when a person gives an order about it", () => {
    const held = isContained({ work: null });
    held.isOrdered("restart");
    expect(letGo(held)).toEqual(["person"]);
    expect(ways(held)).toEqual(["pause", "let-go"]);
  });

  it("when a person speaks to it before it was interrupted: that is wanted no more, and there is nothing to undo", () => {
    const held = isHandedOver({ settings: by("interrupt") });
    loops(held, 3);
    held.agent.isNudgedBy("operator", "try the other branch");
    expect(held.agent.record.ladder.containment?.state).toBe("let-go");
    answers(held, { kind: "contained" });
    expect(held.agent.told("AGENT_CONTAINED")).toEqual([]);
    expect(letGo(held)).toEqual([]);
    expect(ways(held)).toEqual(["interrupt"]);
  });

  it("when its policy no longer wants it", () => {
    for (const change of [by("none"), { mode: "observe" }] as const) {
      const held = isContained();
      held.agent.policyBecomes(overlay(soon, change));
      held.passes("10s");
      expect(letGo(held)).toEqual(["policy"]);
      expect(ways(held)).toEqual(["pause", "let-go"]);
    }
  });

  it("also in a freeze, and before its order was answered", () => {
    const frozen = isContained();
    frozen.agent.monitorDoubts({ frozen: true });
    frozen.agent.isNudgedBy("operator");
    expect(ways(frozen)).toEqual(["pause", "let-go"]);
    const waiting = isHandedOver();
    loops(waiting, 3);
    waiting.agent.isNudgedBy("operator");
    expect(ways(waiting)).toEqual(["pause", "let-go"]);
    waiting.handsAnswer("worker-1/1/contain/1", { kind: "contain", outcome: { kind: "contained" } });
    expect(waiting.agent.told("AGENT_CONTAINED")).toEqual([]);
  });

  it("in its next life, which nobody has to tell", () => {
    const held = isContained();
    held.exits({ code: 1 });
    held.startsAgain();
    held.passes("1m");
    expect(ways(held)).toEqual(["pause"]);
    expect(held.agent.record.ladder.containment).toBeNull();
  });
});

describe("nobody is held back", () => {
  it.each<[string, () => HeldStory]>([
    ["whose policy says none", () => isHandedOver({ settings: by("none") })],
    [
      "who is only watched",
      () => {
        const held = isHandedOver();
        held.agent.policyBecomes({ ...soon, mode: "observe" });
        return held;
      },
    ],
    [
      "while everything is frozen",
      () => {
        const held = isHandedOver();
        held.agent.monitorDoubts({ frozen: true });
        return held;
      },
    ],
  ])("%s", (_, begin) => {
    const held = begin();
    loops(held, 30);
    expect(orders(held)).toEqual([]);
  });

  it("whose holder is lost, or whose process is over", () => {
    const again = (n: number) => {
      const [id, same] = [`told-${n}`, "same"];
      return [
        { kind: "tool_call" as const, id, tool: "Bash", args_digest: same },
        { kind: "tool_result" as const, id, failed: true, text_digest: same, text_class: same },
      ];
    };
    for (const end of [(held: HeldStory) => held.holderIsLost("alive"), (held: HeldStory) => held.exits({ code: 1 })]) {
      const held = isHandedOver();
      loops(held, 2);
      end(held);
      for (let n = 0; n < 9; n++) held.agent.take({ kind: "stepped", events: again(n) });
      expect(orders(held)).toEqual([]);
    }
  });

  it("who is in circles but still a matter of the ladder", () => {
    const held = heldStory({ hold: { structured: true, input: "none" } });
    loops(held, 30);
    expect(held.agent.record.ladder.incident).not.toBeNull();
    expect(orders(held)).toEqual([]);
  });

  it("who was handed over for being quiet, however long, and whatever it does then", () => {
    const held = goesQuiet({ settings: soon, hold: { input: "none" } });
    held.passes("3h");
    expect(held.agent.record.ladder.handedOver).not.toBeNull();
    held.prints();
    loops(held, 2);
    expect(orders(held)).toEqual([]);
  });

  it("who does something new after it was handed over, call after call", () => {
    const held = isHandedOver();
    worksOn(held, 40);
    expect(orders(held)).toEqual([]);
  });

  it("who waits for its provider, although its last call came in meanwhile", () => {
    const held = isHandedOver();
    loops(held, 2);
    const limited = { kind: "rate-limited", pattern: "p", resetsInMs: 3_600_000, by: "stream" } as const;
    held.shows({ kind: "tool-started", id: "last", name: "Bash", argsDigest: "same", timeoutSeconds: null });
    held.shows({ kind: "tool-ended", id: "last", failed: true, resultDigest: "same", resultClass: "same" }, limited);
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider" });
    held.passes("30m");
    expect(orders(held)).toEqual([]);
  });

  it.each([
    ["calls one new thing after the other", 6, (n: number) => `new-${n}`],
    ["is only suspected of going in circles", 4, () => "same"],
  ])("who was handed over for something else and %s", (_, times, what) => {
    const held = heldStory({ settings: soon, hold: { input: "none" } });
    for (let n = 0; n < 40 && held.agent.record.ladder.handedOver === null; n++) repeatsError(held, 1);
    const { handedOver } = held.agent.record.ladder;
    expect(handedOver).toMatchObject({ illness: "STUCK" });
    for (let n = 0; n < times; n++) {
      const did = { tool: "Bash", args_digest: what(n), text_digest: what(n) };
      held.agent.take({
        kind: "stepped",
        events: [
          { kind: "tool_call", ...did },
          { kind: "tool_result", ...did },
        ],
      });
      held.passes("1s");
    }
    repeatsError(held, 1);
    expect(held.agent.record.ladder.handedOver).toEqual(handedOver);
    expect(held.agent.state).toBe("STUCK");
    expect(orders(held)).toEqual([]);
  });

  it("who is well", () => {
    const held = heldStory({ hold: { structured: true, input: "none" } });
    worksOn(held, 60);
    expect(orders(held)).toEqual([]);
  });
});
