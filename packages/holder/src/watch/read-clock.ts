import type { WallClock } from "@rouse/core";

/** The wall clock of this machine, for reading what is written on it. */
export const readClock = (): WallClock => ({
  now: Date.now(),
  utcOffset: -new Date().getTimezoneOffset(),
  offsetAt: (instant) => -new Date(instant).getTimezoneOffset(),
});
