import type { ProcessFacts } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../world/random.ts";
import { createTimeline } from "../world/virtual-time.ts";
import { createEyes } from "./eyes.ts";
import { HeldActor } from "./held-actor.ts";
import { chooseTraits } from "./held-traits.ts";
import { quietKind, quietNames } from "./quiet-kinds.ts";

const minute = 60_000;

/** Two readings of the processes of one that is well and quiet, four minutes apart. */
function lookTwice(number: number): { readonly first: ProcessFacts; readonly second: ProcessFacts } {
  const random = seededRandom(number);
  const actor = new HeldActor(`held-${number}`, chooseTraits(number, random, true), random, 0);
  if (actor.traits.quiet === null) throw new Error("not of a quiet kind");
  actor.life.mode = actor.beQuiet(actor.traits.quiet, 0);
  return { first: actor.measure(4 * minute, 4 * minute), second: actor.measure(8 * minute, 8 * minute) };
}

const numbers = Array.from({ length: 60 }, (_, i) => i + 1);
const traitsOf = (number: number) => chooseTraits(number, seededRandom(number), true);

describe("agents that are well and quiet", () => {
  it("are all there among sixty, and so are those with a rule of their owner", () => {
    const all = numbers.map(traitsOf);
    expect(new Set(all.map(({ quiet }) => quiet))).toEqual(new Set([null, ...quietNames]));
    expect(all.some(({ idleKill }) => idleKill !== null)).toBe(true);
    expect(all.some(({ rhythm }) => rhythm === "seconds")).toBe(true);
  });

  it("may all be stopped as far as policy and terminals go, and burn no core", () => {
    for (const number of numbers.filter((one) => traitsOf(one).quiet !== null)) {
      expect(traitsOf(number)).toMatchObject({ mayAct: true, foreground: false });
      const { first, second } = lookTwice(number);
      expect((second.cpuMs - first.cpuMs) / (4 * minute)).toBeLessThan(0.16);
    }
  });

  it("show by their sockets, files and terminals what their kind says, and nothing else", () => {
    for (const number of numbers) {
      const { quiet } = traitsOf(number);
      if (quiet === null) continue;
      const { first, second } = lookTwice(number);
      const { shownBy } = quietKind(quiet);
      expect(second.network?.bytes !== first.network?.bytes, quiet).toBe(shownBy === "network");
      expect(second.files?.changes !== first.files?.changes, quiet).toBe(shownBy === "files");
      expect(second.readsTerminal, quiet).toBe(shownBy === "terminal");
    }
  });
});

describe("eyes", () => {
  it("fail one by one, for one agent or for all", () => {
    const timeline = createTimeline();
    const eyes = createEyes(timeline, seededRandom(1), ["held-1", "held-2"]);
    const { second } = lookTwice(2);
    expect(eyes.look("held-1", second)).toEqual(second);
    eyes.planFailures();
    const seen = new Set<string>();
    for (let hours = 1; hours <= 2000; hours++) {
      timeline.runUntil(hours * 60 * minute);
      const looked = eyes.look("held-1", second);
      if (looked === null) seen.add("processes");
      else for (const [name, value] of Object.entries(looked)) if (value === null) seen.add(name);
    }
    expect([...seen].sort()).toEqual(["files", "network", "processes", "readsTerminal", "youngestChildAt"]);
    expect(eyes.failures()).toBeGreaterThan(20);
    expect(eyes.wasOpenSince("processes", "held-1", 0)).toBe(false);
  });
});
