import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { days, describeDuration, hours, minutes, parseDuration, seconds, toIso } from "./time.ts";

describe("a duration", () => {
  it.each([
    ["90s", seconds(90)],
    ["15m", minutes(15)],
    ["1.5h", minutes(90)],
    ["7d", days(7)],
    ["500ms", 500],
    ["45", seconds(45)],
    [" 2h ", hours(2)],
    ["0", 0],
  ])("%j is read", (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it.each(["", "soon", "-5s", "5 s", "1h30m", "1e3s", "s", "5w", "Infinity", "NaN", "1.s", "٣s"])(
    "%j is not one",
    (text) => {
      expect(parseDuration(text)).toBeNull();
    },
  );

  it.each([
    [0, "0 s"],
    [1999, "1 s"],
    [seconds(119), "119 s"],
    [seconds(120), "2 min"],
    [minutes(119), "119 min"],
    [hours(2), "2 h"],
    [hours(47), "47 h"],
    [days(2), "2 d"],
    [-5000, "0 s"],
  ])("of %i ms is told as %j", (duration, text) => {
    expect(describeDuration(duration)).toBe(text);
  });

  it("is told without saying more than passed", () => {
    fc.assert(
      fc.property(fc.nat(days(900)), (duration) => {
        const [, amount, unit] = /^(\d+) (s|min|h|d)$/.exec(describeDuration(duration)) ?? [];
        const told =
          Number(amount) * { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 }[unit as "s" | "min" | "h" | "d"];
        expect(told).toBeLessThanOrEqual(duration);
        expect(told).toBeGreaterThan(duration / 2 - 1000);
      }),
    );
  });
});

it("a moment is told in UTC", () => {
  expect(toIso(0)).toBe("1970-01-01T00:00:00.000Z");
});
