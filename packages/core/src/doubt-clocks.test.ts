import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ClockReading, doubtClocks, steadyElapsed } from "./doubt.ts";

const noon: ClockReading = { mono: 5_000, boot: 90_000, wall: 1_700_000_000_000 };
const later = (by: { mono?: number; boot?: number; wall?: number }): ClockReading => {
  const { mono = 250, boot = mono, wall = boot } = by;
  return { mono: noon.mono + mono, boot: noon.boot + boot, wall: noon.wall + wall };
};
const faults = (by: Parameters<typeof later>[0]) => doubtClocks(noon, later(by), { stall: 2000 });

describe("our own clocks, read twice", () => {
  it("raise no doubt when a quarter of a second passed on all of them", () => {
    expect(faults({})).toEqual([]);
    expect(faults({ mono: 250, boot: 1240, wall: 200 })).toEqual([]); // uptime comes in coarse steps
    expect(faults({ mono: 2000 })).toEqual([]);
  });

  it("tell a stall: we were not running for longer than we should be", () => {
    expect(faults({ mono: 2001 })).toEqual([{ cause: "stall", lasted: 2001 }]);
  });

  it("tell a suspend: the machine slept while monotonic time stood still", () => {
    expect(faults({ mono: 250, boot: 3_600_250 })).toEqual([{ cause: "suspend", lasted: 3_600_000 }]);
  });

  it("tell a step of the wall clock, forwards and backwards", () => {
    expect(faults({ wall: 250 + 3_600_000 })).toEqual([{ cause: "clock-step", lasted: 3_600_000 }]);
    expect(faults({ wall: 250 - 3_600_000 })).toEqual([{ cause: "clock-step", lasted: -3_600_000 }]);
    expect(faults({ wall: 250 + 2000 })).toEqual([]);
    expect(faults({ wall: 250 - 2000 })).toEqual([]);
  });

  it("do not take a suspend for a step, though the wall clock jumped", () => {
    expect(faults({ mono: 100, boot: 60_000, wall: 60_020 }).map(({ cause }) => cause)).toEqual(["suspend"]);
  });

  it("tell several at once", () => {
    expect(faults({ mono: 5000, boot: 65_000, wall: 0 }).map(({ cause }) => cause)).toEqual([
      "stall",
      "suspend",
      "clock-step",
    ]);
  });
});

describe("steady time between two readings", () => {
  it("counts a suspend, and does not count a step of the wall clock", () => {
    expect(steadyElapsed(noon, later({ mono: 250, boot: 3_600_250 }))).toBe(3_600_250);
    expect(steadyElapsed(noon, later({ mono: 250, wall: 99_999_999 }))).toBe(250);
    expect(steadyElapsed(noon, later({ mono: 250, wall: -99_999_999 }))).toBe(250);
  });

  it("never goes back and never falls behind monotonic time", () => {
    fc.assert(
      fc.property(fc.nat(1e7), fc.integer({ min: -1000, max: 1e9 }), fc.integer(), (mono, slept, wall) => {
        const elapsed = steadyElapsed(noon, later({ mono, boot: mono + slept, wall }));
        expect(elapsed).toBeGreaterThanOrEqual(mono);
      }),
    );
  });
});
