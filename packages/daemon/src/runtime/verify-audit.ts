import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { AuditRecord, type AuditVerdict } from "@rouse/contract";
import type { AuditPlace } from "../ports/store.ts";
import { hashOfLine, isSigned, noHash } from "./audit-trail.ts";

/** What is known of a trail beside its lines. */
export interface AuditEnds {
  /** Its last line; there may be newer ones by now. */
  readonly head: AuditPlace | null;
  /** The last line that was removed because it was too old; `null` when none was. */
  readonly anchor: AuditPlace | null;
}

type Problem = AuditVerdict["problems"][number];

/**
 * Whether lines, oldest first, are a trail as it was written: nothing changed, left out, moved or put in, and every termination signed. Without
 * `ends` nobody can tell whether lines are missing before the first or after the last. The lines may come from anywhere.
 */
export function verifyAudit(given: readonly unknown[], publicKey: string, ends?: AuditEnds): AuditVerdict {
  const key = readKey(publicKey);
  const problems: Problem[] = key === null ? [{ number: null, problem: "the public key cannot be read" }] : [];
  const lines = given.filter(isLine);
  if (lines.length < given.length) problems.push(nameForeign(given));
  let signatures = 0;
  for (const [i, line] of lines.entries()) {
    const { number } = line;
    const signatureProblem = checkSignature(line, key);
    for (const problem of [checkContent(line), checkPlace(line, lines[i - 1]), signatureProblem])
      if (problem !== null) problems.push({ number, problem });
    if (line.signature !== null && signatureProblem === null) signatures++;
  }
  if (ends !== undefined) problems.push(...checkFront(lines, ends), ...checkTail(lines, ends));
  const first = lines[0]?.number ?? 1;
  return {
    sound: problems.length === 0,
    entries: given.length,
    signatures,
    beginsAt: first > 1 ? first : null,
    problems,
  };
}

/** The line itself is looked at further, not what the schema makes of it: what was added to it must be found. */
const isLine = (given: unknown): given is AuditRecord => AuditRecord.safeParse(given).success;

function nameForeign(given: readonly unknown[]): Problem {
  const places = given.flatMap((one, i) => (isLine(one) ? [] : [i + 1]));
  const more = places.length > 5 ? " …" : "";
  return {
    number: null,
    problem: `not lines of an audit trail, by their place: ${places.slice(0, 5).join(", ")}${more}`,
  };
}

function checkContent(line: AuditRecord): string | null {
  return hashOrNull(line) === line.hash ? null : "it was changed after it was written";
}

/** A line from a file may hold what has no canonical form, such as a number too large to be one. */
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

function checkSignature(line: AuditRecord, key: KeyObject | null): string | null {
  const { hash, signature } = line;
  if (signature === null) return isSigned(line) ? "it is about a termination and is not signed" : null;
  if (key === null) return "its signature cannot be checked";
  const bytes = Buffer.from(signature, "base64");
  // Base64 can be written in more than one way; ours is written in one.
  const isPlain = bytes.toString("base64") === signature;
  return isPlain && verify(null, Buffer.from(hash), key, bytes) ? null : "its signature is not ours";
}

/** Retention removes lines from the front, and says up to which. A trail that begins later than that has lost some otherwise. */
function checkFront([first, ...rest]: readonly AuditRecord[], { anchor }: AuditEnds): Problem[] {
  if (first === undefined) return [];
  const expected = anchor ?? { number: 0, hash: noHash };
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
  // Read before retention removed them.
  return [first, ...rest].some(isAt(expected)) ? [] : [foreign(expected)];
}

function checkTail(lines: readonly AuditRecord[], { head, anchor }: AuditEnds): Problem[] {
  const last = lines.at(-1);
  if (head === null)
    return last === undefined
      ? []
      : [{ number: null, problem: "nothing says where the trail ends: lines may be missing" }];
  const end = last?.number ?? anchor?.number ?? 0;
  if (head.number > end) return [{ number: null, problem: `${nameLines(end + 1, head.number)} missing at the end` }];
  return lines.some(isAt(head)) ? [] : [foreign(head)];
}

const isAt = (place: AuditPlace) => (line: AuditRecord) => line.number === place.number && line.hash === place.hash;

const foreign = ({ number }: AuditPlace): Problem => ({ number, problem: "it is not the line that was written" });

const nameLines = (from: number, to: number): string =>
  from === to ? `line ${from} is` : `lines ${from} to ${to} are`;

function readKey(pem: string): KeyObject | null {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key : null;
  } catch {
    return null;
  }
}
