import type { KeyObject } from "node:crypto";
import { AuditRecord, type AuditVerdict } from "@rouse/contract";
import type { AuditPlace } from "../ports/store.ts";
import { hashOfLine, headText, isSignedBy, noHash, readPublicKey } from "./audit-trail.ts";
import { type AuditEnds, type AuditProblem, type CheckedSeals, checkSeals, nameLines } from "./check-seals.ts";
import { type AnchorReading, compareAnchor } from "./compare-anchors.ts";

/**
 * Whether lines, oldest first, are a trail as it was written: nothing changed, left out, moved or added, and signed
 * where it must be. Without `ends`, lines missing after the last one cannot be noticed. The lines are untrusted.
 */
export function verifyAudit(
  given: readonly unknown[],
  publicKey: string,
  ends?: AuditEnds,
  anchors: readonly AnchorReading[] = [],
): AuditVerdict {
  const key = readPublicKey(publicKey);
  const lines = given.filter(isLine);
  const seals = checkSeals(lines, key, ends);
  const compared = anchors.map((reading) => compareAnchor(reading, lines, seals.store, key));
  const first = lines[0]?.number ?? 1;
  const problems: AuditProblem[] = [
    ...(key === null ? [{ number: null, problem: "the public key cannot be read" }] : []),
    ...(lines.length < given.length ? [nameForeign(given)] : []),
    ...lines.flatMap((line, i) => checkLine(line, lines[i - 1], seals)),
    ...seals.problems,
    ...(seals.store !== null || ends !== undefined ? checkFront(lines, seals.removed) : []),
    ...(ends === undefined ? [] : [...checkTail(lines, ends, seals), ...checkTold(ends, seals, key)]),
    ...compared.flatMap((one) => one.problems),
  ];
  const verdict = {
    sound: problems.length === 0,
    entries: given.length,
    signatures: seals.signatures,
    beginsAt: first > 1 ? first : null,
    sealed: seals.newest === null ? null : { number: seals.newest.number, time: seals.newest.time },
    takenOver: seals.takenOver,
    unsealed: seals.unsealed,
    foundOpen: seals.foundOpen,
    anchors: compared.map((one) => one.verdict),
    problems,
  };
  const isTold = ends !== undefined && ends.told !== null;
  return { ...verdict, cannotShow: sayWhatCannotBeShown(verdict, anchors, isTold) };
}

/** The line itself is checked further, not the schema's copy of it: fields added to it must be found. */
const isLine = (given: unknown): given is AuditRecord => AuditRecord.safeParse(given).success;

function nameForeign(given: readonly unknown[]): AuditProblem {
  const places = given.flatMap((one, i) => (isLine(one) ? [] : [i + 1]));
  const more = places.length > 5 ? " …" : "";
  return {
    number: null,
    problem: `not lines of an audit trail, by their place: ${places.slice(0, 5).join(", ")}${more}`,
  };
}

function checkLine(line: AuditRecord, previous: AuditRecord | undefined, seals: CheckedSeals): AuditProblem[] {
  return [checkContent(line), checkPlace(line, previous), seals.problemWith(line)]
    .filter((problem) => problem !== null)
    .map((problem) => ({ number: line.number, problem }));
}

function checkContent(line: AuditRecord): string | null {
  return hashOrNull(line) === line.hash ? null : "it was changed after it was written";
}

/** An untrusted line may hold what has no canonical form, such as a number that is too large. */
function hashOrNull(line: AuditRecord): string | null {
  try {
    return hashOfLine(line);
  } catch {
    return null;
  }
}

function checkPlace({ number, before }: AuditRecord, previous: AuditRecord | undefined): string | null {
  if (previous === undefined) {
    if ((number === 1) === (before === noHash)) return null;
    return number === 1 ? "it is the first line and names one before it" : "it names no line before it";
  }
  if (number <= previous.number) return `it is out of place: it comes after line ${previous.number}`;
  if (number > previous.number + 1) return `${nameLines(previous.number + 1, number - 1)} missing before it`;
  return before === previous.hash ? null : "the line before it is not the one it was written after";
}

/** Retention removes lines from the front and says up to which. A trail that begins later has lost lines otherwise. */
function checkFront([first, ...rest]: readonly AuditRecord[], removed: AuditPlace | null): AuditProblem[] {
  if (first === undefined) return [];
  const expected = removed ?? { number: 0, hash: noHash };
  if (first.number > expected.number + 1)
    return [{ number: first.number, problem: `${nameLines(expected.number + 1, first.number - 1)} missing before it` }];
  if (first.number === expected.number + 1)
    return first.before === expected.hash
      ? []
      : [
          {
            number: first.number,
            problem: "the line before it, removed by retention, is not the one it was written after",
          },
        ];
  // The lines were read before retention removed them.
  return [first, ...rest].some(isAt(expected)) ? [] : [foreign(expected)];
}

function checkTail(lines: readonly AuditRecord[], { head }: AuditEnds, { removed }: CheckedSeals): AuditProblem[] {
  const last = lines.at(-1);
  if (head === null)
    return last === undefined
      ? []
      : [{ number: null, problem: "nothing says where the trail ends: lines may be missing" }];
  const end = last?.number ?? removed?.number ?? 0;
  if (head.number > end) return [{ number: null, problem: `${nameLines(end + 1, head.number)} missing at the end` }];
  return lines.some(isAt(head)) ? [] : [foreign(head)];
}

function checkTold({ head, told }: AuditEnds, { store }: CheckedSeals, key: KeyObject | null): AuditProblem[] {
  if (told === null || key === null) return [];
  if (head !== null && store !== null && isSignedBy(key, headText(store, head, told.time), told.signature)) return [];
  return [{ number: null, problem: "what is said of its end was not signed by this key: it may have been cut off" }];
}

const isAt = (place: AuditPlace) => (line: AuditRecord) => line.number === place.number && line.hash === place.hash;

const foreign = ({ number }: AuditPlace): AuditProblem => ({ number, problem: "it is not the line that was written" });

type Found = Omit<AuditVerdict, "cannotShow">;

const vouched =
  "Rouse signed the end of the trail when it gave it out, which covers that part; the database alone would not show a change of it";
const open = "whoever can write to the database could have changed or removed that part";

/** What this trail cannot show, so that nobody relies on it. */
function sayWhatCannotBeShown(
  found: Found,
  readings: readonly AnchorReading[],
  isTold: boolean,
): AuditVerdict["cannotShow"] {
  return [
    ...saySeals(found, isTold),
    ...sayEnd(found, readings, isTold),
    "Whoever has the signing key can write any trail that looks sound, but cannot change what an anchor already holds.",
  ];
}

function saySeals({ sealed, takenOver, unsealed, foundOpen }: Found, isTold: boolean): string[] {
  if (sealed === null)
    return [
      "Nothing of it is sealed. Terminations are signed; whoever can write to it could have removed them and written the rest anew.",
    ];
  return [
    ...(takenOver === null
      ? []
      : [
          `${nameStretch(takenOver)} written before trails were sealed: chained, and sealed only with line ${takenOver.to + 1}. A change made before that would not be seen.`,
        ]),
    ...foundOpen.map(
      ({ from, to }) =>
        `${from === to ? `Line ${from} was` : `Lines ${from}–${to} were`} not sealed when Rouse died: taken over as found at the next start. A change made before that would not be seen.`,
    ),
    ...(unsealed === null ? [] : [`${nameStretch(unsealed)} chained but not sealed yet: ${isTold ? vouched : open}.`]),
  ];
}

function sayEnd({ anchors }: Found, readings: readonly AnchorReading[], isTold: boolean): string[] {
  const agreeing = anchors.filter(({ says }) => says === "agrees");
  const silent = anchors.flatMap(({ says, anchor, problem }) =>
    says === "silent" ? [`${anchor} could not be compared: ${problem}.`] : [],
  );
  const cut = isTold
    ? "lines that were cut off at the end before it was given out, while no Rouse was running, would not be missed"
    : "lines that were cut off at the end would not be missed, back to any earlier one";
  if (anchors.some(({ says }) => says === "contradicts")) return silent;
  if (agreeing.length === 0) return [...silent, `No anchor outside the database was compared, so ${cut}.`];
  const newest = Math.max(...agreeing.map((one) => one.newest?.number ?? 0));
  const isBeside = (name: string): boolean => readings.some(({ anchor, isBeside }) => anchor === name && isBeside);
  return [
    ...silent,
    ...(isTold ? [] : [`Lines after ${newest}, the newest that an anchor holds, could have been cut off.`]),
    ...(agreeing.every(({ anchor }) => isBeside(anchor))
      ? ["The anchor lies beside the database: whoever can write to that folder could have cut both."]
      : []),
  ];
}

const nameStretch = ({ from, to }: { from: number; to: number }): string =>
  from === to ? `Line ${from} is` : `Lines ${from} to ${to} are`;
