import { describe, expect, it } from "vitest";
import { handWoundTimers } from "./hand-wound-timers.test-support.ts";
import { mostPerSlice, takeInSlices } from "./take-in-slices.ts";

function openSlices() {
  const wound = handWoundTimers();
  let stopped = false;
  const eachSlice = takeInSlices({ timers: wound.timers, repeating: { stopped: () => stopped } });
  return { ...wound, eachSlice, stop: () => (stopped = true) };
}

const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe("what one request brings", () => {
  it("is taken at once when it is little", async () => {
    const { eachSlice, waiting } = openSlices();
    const taken: number[] = [];
    void eachSlice(many(mostPerSlice), (slice) => taken.push(...slice));
    expect(taken).toHaveLength(mostPerSlice);
    expect(waiting().soon).toBe(0);
  });

  it("is taken in order, a slice in each turn of the event loop, when it is much", async () => {
    const { eachSlice, turn } = openSlices();
    const taken: number[] = [];
    const places: number[] = [];
    const done = eachSlice(many(950), (slice, from) => {
      places.push(from);
      taken.push(...slice);
    });
    for (let turns = 1; turns <= 10; turns++) {
      await turn();
      expect(taken).toHaveLength(Math.min(950, turns * mostPerSlice));
    }
    await done;
    expect(taken).toEqual(many(950));
    expect(places).toEqual(many(10).map((index) => index * mostPerSlice));
  });

  it("is weighed: what is worth many ordinary ones fills a slice sooner, or alone", async () => {
    const { eachSlice, turn } = openSlices();
    const taken: (readonly number[])[] = [];
    const done = eachSlice(
      [1, 500, 40, 60, 1, 99],
      (slice) => taken.push(slice),
      (weight) => weight,
    );
    for (let turns = 1; turns <= 4; turns++) await turn();
    await done;
    expect(taken).toEqual([[1], [500], [40, 60], [1, 99]]);
  });

  it("is one slice a turn however many requests bring much, and each has its turn", async () => {
    const { eachSlice, turn } = openSlices();
    const taken: string[] = [];
    const done = ["a", "b", "c"].map((name) => eachSlice(many(300), () => taken.push(name)));
    for (let turns = 1; turns <= 9; turns++) {
      await turn();
      expect(taken).toHaveLength(turns);
    }
    await Promise.all(done);
    expect(taken.join("")).toBe("abcabcabc");
  });

  it("is not taken any further once the monitor stops", async () => {
    const { eachSlice, turn, stop } = openSlices();
    const taken: number[] = [];
    const done = eachSlice(many(1000), (slice) => taken.push(...slice));
    await turn();
    stop();
    const refused = expect(done).rejects.toMatchObject({ code: "store-unavailable", retryable: true });
    await turn();
    await refused;
    expect(taken).toHaveLength(mostPerSlice);
  });
});
