import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

const error = (digest = "e1"): Sight => ({ kind: "error", pattern: "error", digest, text: "cannot open <path>" });

const call = (id: string): Sight[] => [
  { kind: "tool-started", id, name: "shell", argsDigest: `of ${id}`, timeoutSeconds: null },
  { kind: "tool-ended", id, failed: false, resultDigest: `of ${id}` },
];

/** The same error every minute, with so many new lines beside each. */
function failsFor(held: HeldStory, minutes: number, newLines: number): void {
  for (let i = 0; i < minutes; i++) {
    held.prints(newLines);
    held.shows(error());
    held.passes("1m");
  }
}

describe("the same error", () => {
  it("five times in ten minutes with little else new is STUCK; nobody is stopped for it by default", () => {
    const held = heldStory();
    failsFor(held, 5, 1);
    expect(held.agent.past).toEqual(["240s STUCK"]);
    expect(held.agent.finding("repeated-error")).toMatchObject({ class: "repetition", evidence: { times: 5 } });
    expect(held.agent.finding("repeated-error")?.text).not.toContain("cannot open");
    expect(held.agent.did("raise-alert")).toHaveLength(1);
    failsFor(held, 60, 1);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("with much else new is a warning: somebody fixes tests one by one", () => {
    const held = heldStory();
    failsFor(held, 9, 8);
    expect(held.agent.past).toEqual(["240s DEGRADED"]);
  });

  it("is left behind with the first few new lines after it: who has come round is not stuck because of what it did before", () => {
    const held = heldStory();
    failsFor(held, 6, 1);
    expect(held.agent.state).toBe("STUCK");
    held.prints(4);
    expect(held.agent.state).toBe("STUCK");
    held.prints(1);
    expect(held.agent.state).toBe("DEGRADED");
    failsFor(held, 1, 0);
    expect(held.agent.state).toBe("STUCK");
  });

  it("four times is nothing, and different errors are not the same", () => {
    const held = heldStory();
    failsFor(held, 4, 1);
    for (const digest of ["e2", "e3", "e4", "e5", "e6"]) held.shows(error(digest));
    expect(held.agent.past).toEqual([]);
  });

  it("five lines of it within five seconds are one error", () => {
    const held = heldStory();
    for (let i = 0; i < 20; i++) {
      held.shows(error());
      held.agent.silentFor("200ms");
    }
    expect(held.agent.past).toEqual([]);
    expect(held.agent.record.seen.terminal?.errors[0]?.seen).toHaveLength(1);
  });

  it("is forgotten when the window has passed", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    failsFor(held, 5, 1);
    held.passes("290s");
    expect(held.agent.state).toBe("STUCK");
    held.passes("1m");
    expect(held.agent.past).toEqual(["240s STUCK", "600s HEALTHY"]);
  });

  it("is forgotten as well when its holder is lost meanwhile, of which nothing more will come", () => {
    const held = heldStory();
    failsFor(held, 5, 1);
    held.holderIsLost("alive");
    expect(held.agent.state).toBe("STUCK");
    held.agent.silentFor("10m");
    expect(held.agent.finding("repeated-error")).toBeUndefined();
  });

  it("is counted as of when it was seen: what a monitor that was away is told late is judged as it would have been then", () => {
    const held = heldStory();
    failsFor(held, 6, 0);
    expect(held.agent.state).toBe("STUCK");
    held.agent.silentFor("20m");
    expect(held.agent.state).toBe("STUCK");
    held.report([{ kind: "output", rows: 6, novel: 0 }, error()], {}, 15 * 60_000);
    expect(held.agent.state).toBe("STUCK");
    held.report([], {}, 5000);
    expect(held.agent.finding("repeated-error")).toBeUndefined();
  });

  it("in circles outweighs another that is more frequent but comes with work", () => {
    const held = heldStory();
    for (let i = 0; i < 6; i++) {
      held.prints(30);
      held.shows(error("busy"));
      held.passes("10s");
    }
    for (let i = 0; i < 5; i++) {
      held.shows(error("circles"));
      held.passes("10s");
    }
    expect(held.agent.finding("repeated-error")).toMatchObject({ level: "stuck", evidence: { errorClass: "circles" } });
  });

  it("in a stream with new results beside it is a warning", () => {
    const held = heldStory({ hold: { structured: true } });
    for (let i = 0; i < 6; i++) {
      for (let n = 0; n < 6; n++) held.shows(...call(`t${i}-${n}`));
      held.shows(error());
      held.passes("30s");
    }
    expect(held.agent.past).toEqual(["120s DEGRADED"]);
  });

  it("told late counts when it was seen, not when it was told", () => {
    const held = heldStory();
    held.passes("30m");
    held.prints();
    for (let ago = 30; ago > 0; ago -= 5) held.report([error()], {}, ago * 60_000);
    expect(held.agent.past.filter((line) => line.includes("1800s"))).toEqual(["1800s HEALTHY"]);
    expect(held.agent.finding("repeated-error")).toBeUndefined();
  });
});
