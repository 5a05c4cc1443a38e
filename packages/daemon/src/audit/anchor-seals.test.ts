import type { AuditSeal, RouseEvent } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { handWoundTimers } from "../engine/hand-wound-timers.test-support.ts";
import { sealOfLine } from "../ports/anchors.conformance.ts";
import type { Anchor } from "../ports/anchors.ts";
import { anchorSeals } from "./anchor-seals.ts";

/** Two places for seals, each of which may be away or slow. */
function world(places = ["file:/a", "file:/b"]) {
  const time = handWoundTimers();
  const kept: Record<string, number[]> = {};
  const away = new Set<string>();
  const slow: (() => void)[] = [];
  const told: RouseEvent[] = [];
  const state = { places, isSlow: false };
  const open = (path: string): Anchor => ({
    async place({ number }: AuditSeal) {
      if (state.isSlow) await new Promise<void>((resolve) => slow.push(resolve));
      if (away.has(path)) throw new Error("nobody is there");
      kept[path] = [...(kept[path] ?? []), number];
    },
    read: async () => null,
  });
  const anchoring = anchorSeals({
    anchors: (at) => (at.kind === "file" ? open(at.path) : null),
    places: () => state.places,
    storeId: "store-1",
    timers: time.timers,
    log: { info() {}, warn() {}, error() {} },
    tell: (event) => void told.push(event),
  });
  const answer = () => {
    for (const resolve of slow.splice(0)) resolve();
  };
  return { anchoring, time, kept, away, told, state, answer };
}

describe("seals on their way out of the database", () => {
  it("get to every anchor, and one that is away holds up no other", async () => {
    const { anchoring, time, kept, away } = world();
    away.add("/b");
    anchoring.offer(sealOfLine(1));
    await time.settle();
    expect(kept).toEqual({ "/a": [1] });
    anchoring.offer(sealOfLine(66));
    await time.settle();
    expect(kept).toEqual({ "/a": [1, 66] });
  });

  it("are tried again after 1, 2, 4 … seconds, a minute at most; the newest is what gets there, and both ends are told once", async () => {
    const { anchoring, time, kept, away, told } = world(["file:/a"]);
    away.add("/a");
    anchoring.offer(sealOfLine(1));
    await time.settle();
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      const [next = 0] = time.waiting().later;
      waits.push(next / 1000);
      anchoring.offer(sealOfLine(66 + i));
      await time.pass(next);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(told).toEqual([{ type: "AUDIT_ANCHOR_FAILED", payload: { anchor: "file:/a", problem: "nobody is there" } }]);
    away.clear();
    await time.pass(60_000);
    expect(kept).toEqual({ "/a": [73] });
    expect(told.slice(1)).toEqual([{ type: "AUDIT_ANCHOR_RESTORED", payload: { anchor: "file:/a", number: 73 } }]);
  });

  it("that come while an anchor is busy wait for it, and only the newest follows", async () => {
    const { anchoring, time, kept, state, answer } = world(["file:/a"]);
    state.isSlow = true;
    for (const number of [1, 66, 131]) anchoring.offer(sealOfLine(number));
    answer();
    await time.settle();
    answer();
    await time.settle();
    expect(kept).toEqual({ "/a": [1, 131] });
  });

  it("go where the configuration says now", async () => {
    const { anchoring, time, kept, state } = world(["file:/a"]);
    anchoring.offer(sealOfLine(1));
    await time.settle();
    state.places = ["file:/b"];
    anchoring.refresh();
    await time.settle();
    anchoring.offer(sealOfLine(66));
    await time.settle();
    expect(kept).toEqual({ "/a": [1], "/b": [1, 66] });
    expect(anchoring.names()).toEqual(["file:/b"]);
  });

  it("are given a moment at the end", async () => {
    const { anchoring, kept, state, answer } = world(["file:/a"]);
    state.isSlow = true;
    anchoring.offer(sealOfLine(1));
    const stopped = anchoring.stop();
    answer();
    await stopped;
    expect(kept).toEqual({ "/a": [1] });
  });

  it("are not waited for longer than that, and nothing is tried or told after it", async () => {
    const { anchoring, time, kept, away, told, state, answer } = world(["file:/a"]);
    state.isSlow = true;
    anchoring.offer(sealOfLine(1));
    let isOver = false;
    void anchoring.stop().then(() => {
      isOver = true;
    });
    await time.pass(2999);
    expect(isOver).toBe(false);
    await time.pass(1);
    expect(isOver).toBe(true);
    away.add("/a");
    answer();
    await time.settle();
    state.isSlow = false;
    away.clear();
    anchoring.offer(sealOfLine(66));
    await time.pass(600_000);
    await time.settle();
    expect([kept, told]).toEqual([{}, []]);
  });
});
