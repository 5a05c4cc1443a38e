import type { Checkpoint, CheckpointFlaw } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CheckpointLink, chooseCheckpoint } from "./choose-checkpoint.ts";

const at = (step: number): Checkpoint => ({
  id: `${step}`.padStart(64, "0"),
  taskId: "fix-42",
  number: step,
  step,
  stepName: `step ${step}`,
  agentId: "worker-1",
  incarnation: 1,
  parent: null,
  stateHash: "a".repeat(64),
  stateBytes: 2,
  workspace: null,
  time: "2026-02-05T10:00:00.000Z",
});

const link = (step: number, ...flaws: CheckpointFlaw[]): CheckpointLink => ({ checkpoint: at(step), flaws });
const gone: CheckpointLink = { checkpoint: null, flaws: ["unreadable"] };

describe("a task that is brought back", () => {
  it("goes on from its newest checkpoint, and nothing is lost", () => {
    const { checkpoint, lost } = chooseCheckpoint([link(5), link(4), link(3)]);
    expect(checkpoint?.step).toBe(5);
    expect(lost).toEqual({ checkpoints: 0, steps: 0, flaws: [], startsOver: false });
  });

  it("goes on from the one before when the newest lost its state, and it is said what that costs", () => {
    const { checkpoint, lost } = chooseCheckpoint([link(9, "state-missing"), link(7), link(3)]);
    expect(checkpoint?.step).toBe(7);
    expect(lost).toEqual({ checkpoints: 1, steps: 2, flaws: ["state-missing"], startsOver: false });
  });

  it("goes back past every checkpoint that is not what was saved", () => {
    const links = [link(6, "state-changed"), link(5, "state-missing"), link(4, "state-changed"), link(2)];
    expect(chooseCheckpoint(links)).toMatchObject({
      checkpoint: { step: 2 },
      lost: { checkpoints: 3, steps: 4, flaws: ["state-changed", "state-missing"] },
    });
  });

  it("starts over when none is right", () => {
    expect(chooseCheckpoint([link(2, "head-changed"), gone])).toEqual({
      checkpoint: null,
      lost: { checkpoints: 2, steps: null, flaws: ["head-changed", "unreadable"], startsOver: true },
    });
  });

  it("starts over when there is none, and nothing that was saved is lost", () => {
    expect(chooseCheckpoint([])).toEqual({
      checkpoint: null,
      lost: { checkpoints: 0, steps: null, flaws: [], startsOver: true },
    });
  });

  it("says so when older ones were not looked at, but only when it starts over", () => {
    expect(chooseCheckpoint([gone], true).lost.olderUnread).toBe(true);
    expect(chooseCheckpoint([link(1)], true).lost.olderUnread).toBeUndefined();
  });
});

describe("a broken chain", () => {
  it("does not keep anybody from the newest checkpoint, which is whole by itself, but it is said", () => {
    const { checkpoint, lost } = chooseCheckpoint([link(5, "parent-missing"), link(3)]);
    expect(checkpoint?.step).toBe(5);
    expect(lost).toEqual({ checkpoints: 0, steps: 0, flaws: ["parent-missing"], startsOver: false });
    expect(chooseCheckpoint([link(5, "parent-flawed"), link(4, "head-changed")]).checkpoint?.step).toBe(5);
  });
});

describe("how many steps are lost", () => {
  it("is unknown when the head of the newest was changed or cannot be read", () => {
    expect(chooseCheckpoint([link(1000, "head-changed"), link(3)]).lost).toMatchObject({ checkpoints: 1, steps: null });
    expect(chooseCheckpoint([gone, link(3)]).lost).toMatchObject({ checkpoints: 1, steps: null });
  });

  it("is none when the newest redid work that an older one had already passed", () => {
    expect(chooseCheckpoint([link(2, "state-missing"), link(7)]).lost.steps).toBe(0);
  });
});

const fatal: readonly CheckpointFlaw[] = ["head-changed", "state-missing", "state-changed", "unreadable"];

it("whatever the chain, the chosen one is the newest that is right by itself, never one that is not", () => {
  const flaw = fc.constantFrom<CheckpointFlaw>(...fatal, "parent-missing", "parent-flawed");
  const anyLink = fc.record({
    checkpoint: fc.oneof(fc.nat(50).map(at), fc.constant(null)),
    flaws: fc.uniqueArray(flaw, { maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.array(anyLink, { maxLength: 12 }), (links) => {
      const { checkpoint, lost } = chooseCheckpoint(links);
      const right = (one: CheckpointLink) =>
        one.checkpoint !== null && !one.flaws.some((found) => fatal.includes(found));
      const newest = links.findIndex(right);
      expect(checkpoint).toBe(newest === -1 ? null : links[newest]?.checkpoint);
      expect(lost.startsOver).toBe(newest === -1);
      expect(lost.checkpoints).toBe(newest === -1 ? links.length : newest);
      expect(lost.steps === null || lost.steps >= 0).toBe(true);
    }),
  );
});
