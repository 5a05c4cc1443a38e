/** The three ways to write a date in HTTP, the first also with another zone; the last has none. */
const withZone = /^[A-Z][a-z]+, \d\d[- ][A-Z][a-z]{2}[- ]\d+ [\d:]{8} (?:[A-Z]{3}|[+-]\d{4})$/;
const withoutZone = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}$/;

/** `null` for anything that HTTP does not call a date: `Date.parse` reads one out of "in 120". */
export function readHttpDate(text: string): number | null {
  // Without a zone it is Greenwich's, and not ours.
  const at = withZone.test(text) ? Date.parse(text) : withoutZone.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

/** `Retry-After` is a number of seconds or a date; `null` for anything else. A date that has passed is now. */
export function readRetryAfter(value: string | null, now: number = Date.now()): number | null {
  const text = value?.trim() ?? "";
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  const at = readHttpDate(text);
  return at === null ? null : Math.max(0, at - now);
}
