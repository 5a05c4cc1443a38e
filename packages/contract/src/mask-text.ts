import { cut } from "./untrusted-text.ts";

/**
 * Masking makes two texts comparable. Every expression is linear: lines are cut to a bounded length first, and no
 * quantifier stands inside another that could match the same characters.
 */

/** Longer than any line that a person reads; the rest is not looked at. */
export const longestLine = 2000;

const months = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}";
const weekdays = "(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?";

const hasGlyph = /[⠀-⣿✻✽✶✳✢◐◓◑◒◴◷◶◵█▌▋▏▎]|^\s*[·*|/\\-](?!\S)/;
const glyphs: readonly RegExp[] = [
  // A single word with dots ("✻ Pondering…") is random and changes while nothing happens.
  /^\s*[·*✻✽✶✳✢] [\p{L}-]{1,40}(?:…|\.\.\.)/u,
  /[⠀-⣿]/g,
  /(?<!\S)[✻✽✶✳✢◐◓◑◒◴◷◶◵](?!\S)/g,
  /^\s*[·*|/\\-](?!\S)/,
  /(?<![█▓▒░▌▋])[█▌▋▏▎]\s*$/,
];

const hasDigit = /\d/;
const counters: readonly RegExp[] = [
  // Dates before times, times before durations: each would leave half of the other behind.
  /(?<![\w.])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)?(?!\w)/g,
  /(?<![\w./])\d{1,2}\/\d{1,2}\/\d{4}(?![\w/])/g,
  new RegExp(`(?<!\\w)${weekdays}(?:\\d{1,2} ${months}|${months} \\d{1,2})(?:,? \\d{4})?(?!\\w)`, "g"),
  /(?<![\w:.])\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?[ap]m)?(?![\w:])/gi,
  /(?<![\w.:])\d{1,12}(?:\.\d{1,12})? ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?=\d|(?!\w))(?:\d{1,2}s)?/g,
  /[↑↓⇡⇣]? ?(?<![\w.,])\d[\d.,]{0,12} ?[kKmM]? (?:tokens?|credits?)(?: (?:used|left|remaining))?(?!\w)/g,
];
const interruptKey = /\b(?:[Ee]sc|[Cc]trl\+[Cc]) to (?:interrupt|cancel)\b/g;
const emptyShell = /[([][\s·•∙,;|]*[)\]]/g;

/** The line without what changes by itself: spinners, clocks, timers, token counters. A count of work stays. */
export function maskVolatile(line: string): string {
  const whole = cut(line, longestLine);
  let text = whole;
  // Most lines have none of these, and this runs for every line of a noisy agent.
  if (hasGlyph.test(text)) text = without(glyphs, text);
  if (hasDigit.test(text)) text = without(counters, text);
  text = text.replace(interruptKey, "");
  if (text !== whole) text = text.replace(emptyShell, "");
  return text.replace(/\s{2,}|[^\S ]/g, " ").trim();
}

function without(parts: readonly RegExp[], text: string): string {
  let rest = text;
  for (const part of parts) rest = rest.replace(part, "");
  return rest;
}

/**
 * Sixteen hex digits that compare texts without keeping them. Not for security: collisions can be made, and short texts
 * guessed.
 */
export function digestOf(text: string): string {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul((b << 13) | (b >>> 19), 0x1b873593) ^ Math.imul(unit, 0xcc9e2d51);
  }
  return hex(scatter(a ^ text.length)) + hex(scatter(b ^ a));
}

function scatter(lane: number): number {
  const once = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}

const hex = (lane: number): string => lane.toString(16).padStart(8, "0");

/** So many lines at either end are masked. The middle is compared as it is: masking megabytes would take too long. */
const linesMasked = 100;

const particulars: readonly (readonly [RegExp, string])[] = [
  [/(?<![\w-])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\w-])/gi, "<id>"],
  [/(?<!\w)0x[\da-f]{1,2000}(?!\w)/gi, "<id>"],
  [/(?<!\w)(?=[a-f]{0,2000}\d)[\da-f]{7,2000}(?!\w)/gi, "<id>"],
  [/\d{1,2000}/g, "#"],
];

/**
 * The text's identity but for numbers, ids and times. Names, paths and quotes count: "no such file a.ts" and "no such
 * file b.ts" are two facts.
 */
export function classOfText(text: string): string {
  const lines = text.split("\n");
  if (lines.length <= 2 * linesMasked) return digestOf(lines.map(mask).join("\n"));
  const head = lines.slice(0, linesMasked).map(mask);
  const tail = lines.slice(-linesMasked).map(mask);
  const between = digestOf(lines.slice(linesMasked, -linesMasked).join("\n"));
  return digestOf([...head, between, ...tail].join("\n"));
}

function mask(line: string): string {
  let text = maskVolatile(line);
  for (const [part, word] of particulars) text = text.replace(part, word);
  return text;
}
