import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { daysFromCivil, findReset, instantOf, readReset, yearAt } from "./read-reset.ts";

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
/** Noon in UTC, two in the afternoon on the machine. */
const clock = { now: Date.UTC(2026, 9, 20, 12, 0, 0), utcOffset: 120 };
const reset = (line: string) => readReset(line, clock);

describe("the time until a limit is lifted", () => {
  it.each([
    ["try again in 20s", 20 * second],
    ["Please try again in 1m30.5s.", 90_500],
    ["Please try again in 250ms.", 250],
    ["retry after 60 seconds", minute],
    ["Rate limited. Retrying in 5 seconds… (attempt 3/10)", 5 * second],
    ["Retry-After: 120", 2 * minute],
    ["retry-after: 1.5", 1500],
    ["resets in 2 hours", 2 * hour],
    ["or try again in 2 days 17 hours 14 minutes.", 2 * day + 17 * hour + 14 * minute],
    ["try again in 1 hour, 5 minutes and 3 secs", hour + 5 * minute + 3 * second],
    ['"retryDelay": "34s"', 34 * second],
    ["Please retry in 34.074824224s.", 34_075],
    ["used 12 of 20 requests, resets in about 3 min", 3 * minute],
  ])("is read from a duration: %s", (line, expected) => {
    expect(reset(line)).toBe(expected);
  });

  it.each([
    ["Retry-After: Tue, 20 Oct 2026 12:28:00 GMT", 28 * minute],
    ["Retry-After: Wed, 21 Oct 2026 07:28:00 GMT", 19 * hour + 28 * minute],
    ["limit will reset at 15:00 UTC", 3 * hour],
    ["resets at 3pm", hour],
    ["You've hit your limit · resets 3:30pm (Europe/Berlin)", hour + 30 * minute],
    ["5-hour limit reached ∙ resets 12am", 10 * hour],
    ["resets 12:30pm", 22 * hour + 30 * minute],
    ["or try again at 2:51 PM.", 51 * minute],
    ["try again at Oct 21st, 2026 2:51 PM.", day + 51 * minute],
    ["You've hit your weekly limit · resets Oct 24 at 3pm (Europe/Berlin)", 4 * day + hour],
    ["resets Oct 24, 3pm", 4 * day + hour],
    ["resets at 2026-10-20T13:00:00Z", hour],
    ["resets at 2026-10-20T13:00:00+02:00", null],
    ["resets at 2026-10-20 15:00", hour],
    ["resets at 2026-10-20 09:00:00-05:00", 2 * hour],
    [`reset at ${Date.UTC(2026, 9, 20, 13) / 1000}`, hour],
    [`Claude AI usage limit reached|${Date.UTC(2026, 9, 20, 13) / 1000}`, hour],
    [`resets at ${Date.UTC(2026, 9, 20, 13)}`, hour],
  ])("is read from a point in time: %s", (line, expected) => {
    expect(reset(line)).toBe(expected);
  });

  it("takes a time of day that has passed for tomorrow's", () => {
    expect(reset("resets 1pm")).toBe(23 * hour);
    expect(reset("resets at 11:49 UTC")).toBe(day - 11 * minute);
  });

  it.each([
    "resets 14:00",
    "resets 1:55pm",
    "You've hit your 5-hour limit · resets 1:59pm (Europe/Berlin)",
    "resets at 11:59 UTC",
    "resets at 2026-10-20T11:55:00Z",
    `reset at ${Date.UTC(2026, 9, 20, 11, 59, 55) / 1000}`,
  ])("is over when the moment it names has only just been: %s", (line) => {
    expect(reset(line)).toBe(0);
  });

  it("is over just after midnight when it named the last minutes of the day before", () => {
    const afterMidnight = { now: Date.UTC(2026, 9, 20, 0, 3, 0), utcOffset: 0 };
    expect(readReset("resets 11:58pm", afterMidnight)).toBe(0);
    expect(readReset("resets 11:30pm", afterMidnight)).toBe(23 * hour + 27 * minute);
  });

  it("lasts at most to the end of the minute it names, and to the second where it names that", () => {
    const within = (line: string, later = 0) => findReset(line, { ...clock, now: clock.now + later })?.withinMs;
    expect(within("try again at 2:51 PM.")).toBe(minute);
    expect(within("resets 2pm", 20 * second)).toBe(40 * second);
    expect(within("resets 2pm", 5 * minute)).toBe(0);
    expect(within("resets in 2h 14m")).toBe(minute);
    expect(within("resets at 2026-10-20T12:00:30Z")).toBe(0);
    expect(within("resets at 15:00:00")).toBe(0);
    expect(within(`limit reached|${Date.UTC(2026, 9, 20, 13) / 1000}`)).toBe(0);
    expect(within("try again in 20s")).toBe(0);
    expect(within("try again in 1m 30s")).toBe(0);
    expect(within("try again later")).toBeUndefined();
  });

  it("is read from a program that goes on by itself then", () => {
    expect(reset("Usage limit reached · continuing automatically at 3pm · esc to cancel")).toBe(hour);
  });

  it("is unknown when the line does not say it, or says nonsense", () => {
    for (const line of [
      "",
      "Rate limit reached",
      "try again later",
      "try again in a moment",
      "resets 3",
      "resets 25:00",
      "resets 13pm",
      "resets at 3:75",
      "retry after -5 seconds",
      "Retry-After: 0",
      "try again in 9 days",
      "Retry-After: 99999999",
      "Retry-After: Wed, 21 Oct 2020 07:28:00 GMT",
      "Retry-After: Wed, 31 Feb 2027 07:28:00 GMT",
      "reset at 1731672000",
      "resets Foo 24 at 3pm",
      "resets at 2026-13-45T00:00:00Z",
      "12s",
      "at 3pm",
    ]) {
      expect(reset(line), line).toBeNull();
    }
  });

  it("is the same wherever a line is long, and read from any text", () => {
    expect(reset("retry ".repeat(20_000))).toBeNull();
    expect(reset(`retry after ${"1".repeat(100_000)}`)).toBeNull();
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        const wait = reset(`try again in ${text}`);
        expect(wait === null || (wait > 0 && wait <= 8 * day)).toBe(true);
      }),
    );
  });

  const anyNow = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2098, 0, 1) });
  const offset = fc.integer({ min: -12 * 4, max: 14 * 4 }).map((quarters) => quarters * 15);

  it("agrees with the calendar about any instant within a week", () => {
    fc.assert(
      fc.property(anyNow, offset, fc.integer({ min: 1, max: 7 * 86_400 }), (now, utcOffset, ahead) => {
        const at = (Math.floor(now / 1000) + ahead) * 1000;
        const wait = at - now;
        const there = { now, utcOffset };
        expect(readReset(`Retry-After: ${new Date(at).toUTCString()}`, there)).toBe(wait);
        expect(readReset(`resets at ${new Date(at).toISOString()}`, there)).toBe(wait);
        const local = new Date(at + utcOffset * minute).toISOString().slice(0, 19).replace("T", " ");
        expect(readReset(`resets at ${local}`, there)).toBe(wait);
        expect(readReset(`resets in ${ahead} seconds`, there)).toBe(ahead * 1000);
      }),
    );
  });

  it("gives for a time of day the next instant at which clocks there show it, unless it has only just been", () => {
    fc.assert(
      fc.property(anyNow, offset, fc.nat(23), fc.nat(59), (now, utcOffset, h, m) => {
        const pad = (n: number) => String(n).padStart(2, "0");
        const wait = readReset(`resets at ${pad(h)}:${pad(m)}`, { now, utcOffset }) ?? Number.NaN;
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(day - 10 * minute);
        if (wait === 0) return;
        const shown = new Date(now + wait + utcOffset * minute);
        expect([shown.getUTCHours(), shown.getUTCMinutes(), shown.getUTCSeconds()]).toEqual([h, m, 0]);
      }),
    );
  });
});

describe("the calendar", () => {
  it("counts days as everybody does", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("0100-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
        (date) => {
          const [year, month, dayOfMonth] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
          expect(daysFromCivil(year, month, dayOfMonth)).toBe(Math.floor(date.getTime() / day));
          expect(yearAt(date.getTime(), 0)).toBe(year);
        },
      ),
    );
  });

  it("knows leap days and refuses days that do not exist", () => {
    const midnight = { hour: 0, minute: 0, second: 0 };
    expect(instantOf({ year: 2028, month: 2, day: 29, ...midnight }, 0)).toBe(Date.UTC(2028, 1, 29));
    expect(instantOf({ year: 2000, month: 2, day: 29, ...midnight }, 0)).toBe(Date.UTC(2000, 1, 29));
    expect(instantOf({ year: 2100, month: 2, day: 29, ...midnight }, 0)).toBeNull();
    expect(instantOf({ year: 2026, month: 4, day: 31, ...midnight }, 0)).toBeNull();
    expect(instantOf({ year: 2026, month: 4, day: 30, ...midnight }, 15 * 60)).toBeNull();
  });
});

describe("a reset on another day", () => {
  const until = (line: string, from: string, utcOffset = 0, offsetAt?: (at: number) => number) => {
    const now = Date.parse(from);
    const wait = readReset(line, { now, utcOffset, ...(offsetAt === undefined ? {} : { offsetAt }) });
    return wait === null ? null : new Date(now + wait).toISOString().slice(0, 16);
  };

  it("may be in the next year, but is not a year away", () => {
    expect(until("resets Jan 2 at 3pm", "2026-12-30T12:00:00Z")).toBe("2027-01-02T15:00");
    expect(until("resets Dec 30 at 3pm", "2026-12-30T12:00:00Z")).toBe("2026-12-30T15:00");
    expect(until("resets Dec 20 at 3pm", "2026-12-30T12:00:00Z")).toBeNull();
  });

  it("is by the clock that people have there then", () => {
    const newYork = (at: number) => (at < Date.parse("2026-11-01T06:00:00Z") ? -240 : -300);
    const line = "resets Nov 3 at 3pm (America/New_York)";
    expect(until(line, "2026-10-28T12:00:00Z", -240, newYork)).toBe("2026-11-03T20:00");
    expect(until("resets Oct 29 at 3pm", "2026-10-28T12:00:00Z", -240, newYork)).toBe("2026-10-29T19:00");
    expect(until("resets Mon 3pm", "2026-10-28T12:00:00Z", -240, newYork)).toBe("2026-11-02T20:00");
  });

  // 2026-11-16 is a Monday.
  it.each([
    ["resets tomorrow at 3pm", "2026-11-17T15:00"],
    ["resets Thu 3pm", "2026-11-19T15:00"],
    ["resets on Sunday at 09:30", "2026-11-22T09:30"],
    ["resets Mon 3pm", "2026-11-16T15:00"],
    ["resets Mon 9am", "2026-11-23T09:00"],
    ["resets Monday, 3pm UTC", "2026-11-16T15:00"],
  ])("(%s) is the next such day", (line, at) => {
    expect(until(line, "2026-11-16T14:00:00Z")).toBe(at);
  });
});
