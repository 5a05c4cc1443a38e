import type { DurationMs, EpochMs } from "@rouse/contract";

export const dayMs: DurationMs = 86_400_000;

/** A time as people write it, in whatever zone they meant. Months count from 1. */
export interface CivilTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** The instant, `utcOffset` minutes ahead of UTC; `null` when there is no such time. */
export function instantOf(time: CivilTime, utcOffset: number): EpochMs | null {
  const { year, month, day, hour, minute, second } = time;
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 59 || Math.abs(utcOffset) > 14 * 60) return null;
  const days = daysFromCivil(year, month, day);
  return days * dayMs + ((hour * 60 + minute - utcOffset) * 60 + second) * 1000;
}

/** The year of an instant there, for dates written without one. */
export function yearAt(instant: EpochMs, utcOffset: number): number {
  const days = Math.floor((instant + utcOffset * 60_000) / dayMs);
  let year = 1970 + Math.floor(days / 365.2425);
  while (daysFromCivil(year + 1, 1, 1) <= days) year++;
  while (daysFromCivil(year, 1, 1) > days) year--;
  return year;
}

/** Days since 1970-01-01. The year is taken to begin in March, so that the leap day is its last. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
