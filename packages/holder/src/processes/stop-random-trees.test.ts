import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { growRandomTree } from "./random-trees.test-support.ts";
import {
  cgroupsHere,
  groupHere,
  isThere,
  killHard,
  type Nursery,
  onLinux,
  openNursery,
  startAgent,
  startBystander,
  until,
  warnOfWhatIsLeftOut,
} from "./real-processes.test-support.ts";
import { stopTree } from "./stop-tree.ts";
import { createTreeWatch } from "./watch-tree.ts";

const seeds = Array.from({ length: 50 }, (_, index) => 1000 + index);

describe.skipIf(!onLinux)("of fifty random trees", () => {
  let home: Nursery;
  let bystanders: number[];
  beforeAll(() => {
    home = openNursery();
    bystanders = [startBystander(home), startBystander(home, true)];
  });
  afterAll(() => {
    for (const pid of bystanders) killHard(pid);
    home.clear();
  });

  it.skipIf(!cgroupsHere)("nobody survives in control groups, whatever they do", { timeout: 240_000 }, async () => {
    for (const seed of seeds) expect(await plantAndStop(seed, true), `seed ${seed}`).toEqual([]);
    expect(bystanders.filter(isThere)).toEqual(bystanders);
  });

  it("nobody survives without control groups who was ever seen or marked", { timeout: 240_000 }, async () => {
    for (const seed of seeds) expect(await plantAndStop(seed, false), `seed ${seed}`).toEqual([]);
    expect(bystanders.filter(isThere)).toEqual(bystanders);
  });

  /** Who is left, looked for by command line. */
  async function plantAndStop(seed: number, inGroup: boolean): Promise<number[]> {
    const nursery = openNursery();
    const group = inGroup ? groupHere() : null;
    const { script, size } = growRandomTree(nursery, seed, inGroup);
    try {
      const { root } = startAgent(script, group);
      await until(() => new Set(nursery.lines("started")).size === size, `all ${size} of seed ${seed}`);
      const watch = createTreeWatch(root);
      const alive = watch.look().length;
      const outcome = await stopTree(watch, { graceMs: 150 });
      // Whoever was alive may have come to its end by itself; that nobody is left is looked at below.
      const possible = alive > 0 ? ["stopped", "already-over"] : ["already-over"];
      expect(possible, `seed ${seed}: ${JSON.stringify(outcome)}`).toContain(outcome.kind);
      return nursery.leftovers();
    } finally {
      nursery.clear();
      group?.remove();
    }
  }
});

warnOfWhatIsLeftOut("fifty random trees");
