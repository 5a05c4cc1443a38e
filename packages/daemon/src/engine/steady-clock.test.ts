import type { ClockReading } from "@rouse/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Clock } from "../ports/clock.ts";
import { startSteadyClock } from "./steady-clock.ts";

const noon = Date.UTC(2026, 1, 5, 12);
const stall = 2000;

/** A machine whose clocks are moved by hand. */
function machine(wall = noon) {
  let reading: ClockReading = { mono: 1000, boot: 500_000, wall };
  const clock: Clock = { mono: () => reading.mono, wall: () => reading.wall, read: () => reading };
  const move = (mono: number, boot: number, wall: number): void => {
    reading = { mono: reading.mono + mono, boot: reading.boot + boot, wall: reading.wall + wall };
  };
  return {
    clock,
    move,
    runs: (ms: number) => move(ms, ms, ms),
    sleeps: (ms: number) => move(0, ms, ms),
    wallIsSet: (by: number) => move(0, 0, by),
    reboots: (wall: number) => {
      reading = { mono: 10, boot: 20, wall: reading.wall + wall };
    },
  };
}

describe("the steady clock", () => {
  it("starts at the wall clock and then follows monotonic time", () => {
    const { clock, runs } = machine();
    const steady = startSteadyClock(clock, null);
    expect(steady.read()).toEqual({ now: noon, time: noon });
    runs(1500);
    expect(steady.read()).toEqual({ now: noon + 1500, time: noon + 1500 });
  });

  it("is not moved by setting the wall clock, forwards or backwards; only the dates people read are", () => {
    for (const by of [3_600_000, -3_600_000]) {
      const { clock, runs, wallIsSet } = machine();
      const steady = startSteadyClock(clock, null);
      runs(250);
      wallIsSet(by);
      expect(steady.read().now).toBe(noon + 250);
      const { moment, faults } = steady.inspect(stall);
      expect(moment).toEqual({ now: noon + 250, time: noon + 250 + by });
      expect(faults).toEqual([{ cause: "clock-step", lasted: by }]);
      expect(steady.toWall(noon + 250)).toBe(noon + 250 + by);
    }
  });

  it("gives a moment one and the same date, however finely the clocks differ, and over a restart", () => {
    const { clock, move } = machine();
    const steady = startSteadyClock(clock, null);
    const dates = new Set([steady.toWall(noon)]);
    for (const grain of [0.4, 0.9, 0.7, 9.6]) {
      move(250 + grain, 250, 250);
      steady.read();
      move(100 + grain, 100, 100);
      steady.inspect(stall);
      dates.add(steady.toWall(noon));
    }
    move(100, 100, 100);
    steady.read();
    const mark = steady.aliveMark();
    move(5000, 4990, 5000);
    dates.add(startSteadyClock(clock, mark).toWall(noon));
    expect([...dates]).toEqual([noon]);
  });

  it("counts a suspend as time that passed, and says so", () => {
    const { clock, runs, sleeps } = machine();
    const steady = startSteadyClock(clock, null);
    steady.inspect(stall);
    runs(250);
    sleeps(600_000);
    const { moment, before, faults } = steady.inspect(stall);
    expect(moment.now).toBe(noon + 600_250);
    expect(before).toBe(noon);
    expect(faults).toEqual([{ cause: "suspend", lasted: 600_000 }]);
    expect(steady.toWall(moment.now)).toBe(moment.time);
  });

  it("tells a stall and since when, however often it was read meanwhile", () => {
    const { clock, runs } = machine();
    const steady = startSteadyClock(clock, null);
    runs(250);
    steady.inspect(stall);
    runs(100);
    steady.read();
    runs(4900);
    const { moment, before, faults } = steady.inspect(stall);
    expect(faults).toEqual([{ cause: "stall", lasted: 5000 }]);
    expect({ from: before, to: moment.now }).toEqual({ from: noon + 250, to: noon + 5250 });
    expect(steady.inspect(stall).faults).toEqual([]);
  });

  it("goes on by the machine's uptime when the wall clock was set while nobody watched", () => {
    for (const by of [86_400_000, -86_400_000]) {
      const { clock, runs, wallIsSet } = machine();
      const before = startSteadyClock(clock, null);
      runs(5000);
      before.inspect(stall);
      const alive = before.aliveMark();
      runs(60_000);
      wallIsSet(by);
      const after = startSteadyClock(clock, alive);
      expect(after.read()).toEqual({ now: noon + 65_000, time: noon + 65_000 + by });
      expect(after.toWall(noon + 65_000)).toBe(noon + 65_000 + by);
    }
  });

  it("goes on by the wall clock after the machine was booted anew, and never goes back even if that was set back", () => {
    for (const [away, expected] of [
      [3_600_000, 3_600_000],
      [-3_600_000, 1],
    ] as const) {
      const { clock, runs, reboots } = machine();
      const before = startSteadyClock(clock, null);
      runs(5000);
      before.inspect(stall);
      const alive = before.aliveMark();
      reboots(away);
      expect(startSteadyClock(clock, alive).read().now).toBe(alive.at + expected);
    }
  });

  it("never goes back, whatever happens to the machine, restarts included", () => {
    const happening = fc.oneof(
      fc.record({ what: fc.constant("runs" as const), ms: fc.integer({ min: 0, max: 100_000 }) }),
      fc.record({ what: fc.constant("sleeps" as const), ms: fc.integer({ min: 0, max: 10_000_000 }) }),
      fc.record({ what: fc.constant("wallIsSet" as const), ms: fc.integer({ min: -1e9, max: 1e9 }) }),
      fc.record({ what: fc.constant("reboots" as const), ms: fc.integer({ min: -1e9, max: 1e9 }) }),
      fc.record({ what: fc.constantFrom("read" as const, "inspect" as const, "restart" as const), ms: fc.constant(0) }),
    );
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 40 }), (life) => {
        const world = machine();
        let steady = startSteadyClock(world.clock, null);
        let last = steady.read().now;
        for (const { what, ms } of life) {
          const alive = steady.aliveMark();
          if (what === "runs" || what === "sleeps" || what === "wallIsSet" || what === "reboots") world[what](ms);
          if (what === "restart" || what === "reboots") steady = startSteadyClock(world.clock, alive);
          const { now } = what === "inspect" ? steady.inspect(stall).moment : steady.read();
          expect(now).toBeGreaterThanOrEqual(last);
          last = now;
        }
      }),
    );
  });
});
