import type { DurationMs, EpochMs } from "@rouse/contract";
import { cut, longestLine } from "./mask-text.ts";
import type { WallClock } from "./reading.ts";

export const dayMs: DurationMs = 86_400_000;
/** Weekly limits are the longest; a longer wait was misread. */
const longestWait: DurationMs = 8 * dayMs;
/** A reset this recent has come: screens keep their text, and are read a while after it was written. */
const justPast: DurationMs = 600_000;
/** Words that announce a time. Numbers before them ("12 of 20 requests used") are none. */
const announcement =
  /(?:\b(?:try again|trying again|retry(?:ing|delay|-after)?|resets?|reset time|available(?: again)?|wait(?:ing)?|continuing(?: automatically)?)\b["']?[\s:]{0,4}|\blimit reached\|)(?:(in|after|for|at|on|until)\b[\s:]{0,4})?["']?(?:about |approximately |~)?/gi;
const mostAnnouncements = 8;

/** How long until a limit is lifted, as the line says; `null` when it does not say, or says nonsense. */
export const readReset = (line: string, clock: WallClock): DurationMs | null =>
  findReset(line, clock)?.resetsInMs ?? null;

/** The reset from now on. `withinMs`: how much later it may be meant, when it is named to the minute. */
interface Reset {
  readonly resetsInMs: DurationMs;
  readonly withinMs: DurationMs;
}

const oneMinute: DurationMs = 60_000;

export function findReset(line: string, clock: WallClock): Reset | null {
  const text = cut(line, longestLine);
  let looked = 0;
  for (const found of text.matchAll(announcement)) {
    if (++looked > mostAnnouncements) return null;
    const rest = text.slice(found.index + found[0].length);
    const secondsMeant = /retry-after|retry[\s:]+after/i.test(found[0]);
    const lasts = readDuration(rest, secondsMeant);
    if (lasts !== null)
      return lasts.ms > 0 && lasts.ms <= longestWait ? resetAfter(lasts.ms, lasts.exact ? 0 : oneMinute) : null;
    const instant = readInstant(rest, clock);
    if (instant === null) continue;
    const wait = instant - clock.now;
    const isMeant = wait > -justPast && wait <= longestWait;
    return isMeant ? resetAfter(wait, namesSecond.test(rest) ? 0 : oneMinute) : null;
  }
  return null;
}

/** An epoch, or a time of day with its seconds. */
const namesSecond = /^1\d{9}|^.{0,40}?\d:\d\d:\d\d/;

/** A minute that has begun counts with its rest. */
function resetAfter(wait: DurationMs, lasts: DurationMs): Reset {
  const resetsInMs = Math.max(0, Math.round(wait));
  return { resetsInMs, withinMs: Math.max(0, Math.round(wait + lasts) - resetsInMs) };
}

const part =
  /^(-?\d{1,9}(?:\.\d{1,9})?)\s?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])[\s,]{0,3}(?:and )?/i;
const mostParts = 5;

/** "1m30.5s", "2 days 17 hours 14 minutes", and bare seconds after a header. */
function readDuration(
  text: string,
  secondsMeant: boolean,
): { readonly ms: DurationMs; readonly exact: boolean } | null {
  let rest = text;
  let total: DurationMs | null = null;
  let smallest = dayMs;
  for (let parts = 0; parts < mostParts; parts++) {
    const found = part.exec(rest);
    if (found === null) break;
    smallest = unitMs(found[2] ?? "");
    total = (total ?? 0) + Number(found[1]) * smallest;
    rest = rest.slice(found[0].length);
  }
  if (total !== null) return { ms: total, exact: smallest < oneMinute };
  const seconds = secondsMeant ? /^(-?\d{1,7}(?:\.\d{1,9})?)["']?(?![\w:/-])/.exec(rest) : null;
  return seconds === null ? null : { ms: Number(seconds[1]) * 1000, exact: true };
}

function unitMs(unit: string): DurationMs {
  const word = unit.toLowerCase();
  if (word === "ms" || word.startsWith("milli")) return 1;
  if (word.startsWith("s")) return 1000;
  if (word.startsWith("m")) return 60_000;
  return word.startsWith("h") ? 3_600_000 : dayMs;
}

const readInstant = (text: string, clock: WallClock): EpochMs | null =>
  readEpoch(text) ??
  readIsoDate(text, clock) ??
  readWrittenDate(text, clock) ??
  readNamedDay(text, clock) ??
  readTimeOfDay(text, clock);

function readEpoch(text: string): EpochMs | null {
  const found = /^(1\d{9})(\d{3})?(?!\d)/.exec(text);
  if (found === null) return null;
  return Number(found[1]) * 1000 + Number(found[2] ?? 0);
}

function readIsoDate(text: string, clock: WallClock): EpochMs | null {
  const found = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?/.exec(text);
  if (found === null) return null;
  const [all, year, month, day, hour, minute, second] = found;
  const time = { ...date(year, month, day), hour: Number(hour), minute: Number(minute), second: Number(second ?? 0) };
  return instantThere(time, readZone(text.slice(all.length)), clock);
}

/** A time without a zone is the machine's own, with the offset of that time. */
function instantThere(time: CivilTime, utcOffset: number | null, clock: WallClock): EpochMs | null {
  if (utcOffset !== null) return instantOf(time, utcOffset);
  const about = instantOf(time, clock.utcOffset);
  return about === null ? null : instantOf(time, clock.offsetAt?.(about) ?? clock.utcOffset);
}

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const dayFirst = /^(?:[a-z]{3,9},? )?(\d{1,2})[ -]([a-z]{3})[a-z]{0,6}[ -](\d{4})[ ,]{1,2}(?:at )?/i;
const monthFirst =
  /^(?:[a-z]{3,9},? )?([a-z]{3})[a-z]{0,6}\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?[ ,]{1,2}(?:at )?/i;

/** "Wed, 21 Oct 2026 07:28:00 GMT", "Oct 21st, 2026 2:51 PM", "Oct 21 at 3pm". */
function readWrittenDate(text: string, clock: WallClock): EpochMs | null {
  const byDay = dayFirst.exec(text);
  const byMonth = byDay === null ? monthFirst.exec(text) : null;
  const found = byDay ?? byMonth;
  if (found === null) return null;
  const [name, day, year] = byDay ? [found[2], found[1], found[3]] : [found[1], found[2], found[3]];
  const month = monthNames.indexOf((name ?? "").toLowerCase()) + 1;
  const time = readClockTime(text.slice(found[0].length));
  if (month === 0 || time === null) return null;
  const thisYear = yearAt(clock.now, time.utcOffset ?? clock.utcOffset);
  const inYear = (which: number) =>
    instantThere({ ...time, month, day: Number(day), year: which }, time.utcOffset, clock);
  if (year !== undefined) return inYear(Number(year));
  const instant = inYear(thisYear);
  // At the end of a year, January is that of the next.
  return instant === null || instant > clock.now - halfYear ? instant : inYear(thisYear + 1);
}

const halfYear: DurationMs = 182 * dayMs;
const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const namedDay = /^(tomorrow|(?:sun|mon|tue|wed|thu|fri|sat)[a-z]{0,6})\.?,? (?:at )?/i;

/** "tomorrow at 3pm", "Thu 3pm": the next such day, today included. */
function readNamedDay(text: string, clock: WallClock): EpochMs | null {
  const found = namedDay.exec(text);
  const time = found === null ? null : readClockTime(text.slice(found[0].length));
  if (found === null || time === null) return null;
  const there = clock.now + (time.utcOffset ?? clock.utcOffset) * 60_000;
  const today = Math.floor(there / dayMs);
  const named = dayNames.indexOf((found[1] ?? "").slice(0, 3).toLowerCase());
  // 1970 began on a Thursday.
  const ahead = named === -1 ? 1 : (named + 7 - ((today + 4) % 7)) % 7;
  const onDay = (days: number): EpochMs => {
    const local = (today + days) * dayMs + ((time.hour * 60 + time.minute) * 60 + time.second) * 1000;
    const about = local - (time.utcOffset ?? clock.utcOffset) * 60_000;
    return time.utcOffset !== null ? about : local - (clock.offsetAt?.(about) ?? clock.utcOffset) * 60_000;
  };
  const instant = onDay(ahead);
  return instant > clock.now - justPast ? instant : onDay(ahead + 7);
}

/** A time of day is the next such time, or one that has only just been, also shortly after midnight. */
function readTimeOfDay(text: string, clock: WallClock): EpochMs | null {
  const time = readClockTime(text);
  if (time === null) return null;
  const offset = (time.utcOffset ?? clock.utcOffset) * 60_000;
  const midnight = Math.floor((clock.now + offset) / dayMs) * dayMs - offset;
  const today = midnight + ((time.hour * 60 + time.minute) * 60 + time.second) * 1000;
  const next = today > clock.now ? today : today + dayMs;
  return next - dayMs > clock.now - justPast ? next - dayMs : next;
}

interface ClockTime {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly utcOffset: number | null;
}

function readClockTime(text: string): ClockTime | null {
  const found = /^(\d{1,2})(?::(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?)?\s?([ap]\.?m\b\.?)?(?![\d:])/i.exec(text);
  if (found === null || (found[2] === undefined && found[4] === undefined)) return null;
  const half = found[4]?.charAt(0).toLowerCase();
  const written = Number(found[1]);
  if (written > (half === undefined ? 23 : 12) || (half !== undefined && written === 0)) return null;
  const hour = half === undefined ? written : (written % 12) + (half === "p" ? 12 : 0);
  const [minute, second] = [Number(found[2] ?? 0), Number(found[3] ?? 0)];
  if (minute > 59 || second > 59) return null;
  return { hour, minute, second, utcOffset: readZone(text.slice(found[0].length)) };
}

/** Zones that need no table; any other name is taken for the machine's own, as programs print local time. */
function readZone(text: string): number | null {
  const found = /^\s?\(?(?:(?:UTC|GMT|Z)(?![\w/+-])|(?:UTC|GMT)?([+-])(\d\d):?(\d\d)?(?!\d))/.exec(text);
  if (found === null) return null;
  const minutes = Number(found[2] ?? 0) * 60 + Number(found[3] ?? 0);
  return found[1] === "-" ? -minutes : minutes;
}

const date = (year?: string, month?: string, day?: string) => ({
  year: Number(year),
  month: Number(month),
  day: Number(day),
});

/** A time as people write it, in whatever zone they meant. Months count from 1. */
interface CivilTime {
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

/** The year of an instant in a zone, for dates without one. */
export function yearAt(instant: EpochMs, utcOffset: number): number {
  const days = Math.floor((instant + utcOffset * 60_000) / dayMs);
  let year = 1970 + Math.floor(days / 365.2425);
  while (daysFromCivil(year + 1, 1, 1) <= days) year++;
  while (daysFromCivil(year, 1, 1) > days) year--;
  return year;
}

/** Days since 1970-01-01. Years begin in March here, so that the leap day is the last. */
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
