import { describe, expect, it } from "vitest";
import { surplusStates } from "./surplus-states.ts";

const states = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${count - i}`, head: '{"stateBytes":1}', isForgotten: false }));

describe("of more states than are kept", () => {
  it("the oldest go first, and no more at once than nobody waits for", () => {
    const surplus = surplusStates(states(1500), { states: 1000, bytes: 1e9 });
    expect(surplus).toHaveLength(200);
    expect(surplus[0]?.id).toBe("200");
    expect(surplus.at(-1)?.id).toBe("1");
  });

  it("none go twice, and the newest never", () => {
    const half = states(10).map((one, i) => ({ ...one, isForgotten: i >= 5 }));
    expect(surplusStates(half, { states: 3, bytes: 1e9 }).map(({ id }) => id)).toEqual(["7", "6"]);
    expect(surplusStates(states(2), { states: 0, bytes: 0 }).map(({ id }) => id)).toEqual(["1"]);
  });
});
