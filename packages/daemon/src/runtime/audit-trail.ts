import { createHash } from "node:crypto";
import { type AuditRecord, type EpochMs, printable, toIso } from "@rouse/contract";
import { canonicalize } from "json-canonicalize";
import { type AuditPlace, auditHeadMark, type Resumption } from "../ports/store.ts";

export interface NewAuditLine {
  readonly time: EpochMs;
  readonly actor: string;
  readonly action: string;
  readonly subject: string | null;
  readonly reason: string;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly policy: string | null;
}

export interface AuditTrail {
  /** The next line. It belongs into the very next commit, with `auditHead` of it as the mark `auditHeadMark`: the line after it refers to it. */
  append(entry: NewAuditLine): AuditRecord;
}

interface TrailParts {
  /** Where the trail ends so far: see `whereTrailEnds`. */
  readonly last: AuditPlace | null;
  /** Ed25519 over the hash, as text, in base64. */
  readonly sign: (hash: string) => string;
}

/** What the first line of all names as the hash of the line before it. */
export const noHash = "0".repeat(64);

/** Lines about the end of processes are signed: who can write to the store cannot make one up. */
export const isSigned = ({ action }: Pick<AuditRecord, "action">): boolean => action === "terminate";

export function keepAuditTrail({ last, sign }: TrailParts): AuditTrail {
  let end: AuditPlace = last ?? { number: 0, hash: noHash };
  return {
    append({ time, actor, action, subject, reason, evidence, policy }) {
      const line = {
        number: end.number + 1,
        time: toIso(time),
        actor: cleanText(actor),
        action: cleanText(action),
        subject: subject === null ? null : cleanText(subject),
        reason: cleanText(reason),
        evidence: cleanEvidence(evidence),
        policy: policy === null ? null : cleanText(policy),
        before: end.hash,
      };
      const hash = hashOfLine(line);
      end = { number: line.number, hash };
      return { ...line, hash, signature: isSigned(line) ? sign(hash) : null };
    },
  };
}

/** SHA-256 of the canonical JSON of all that the line says, whatever it has besides. */
export function hashOfLine(line: object): string {
  const { hash: _hash, signature: _signature, ...said } = line as Partial<AuditRecord>;
  return createHash("sha256").update(canonicalize(said)).digest("hex");
}

export { auditHeadMark };

/** What that mark says after a line. */
export const auditHead = ({ number, hash }: AuditPlace): string => JSON.stringify({ number, hash });

export function readPlace(mark: string | null | undefined): AuditPlace | null {
  try {
    const { number, hash } = JSON.parse(mark ?? "null") ?? {};
    return Number.isInteger(number) && typeof hash === "string" ? { number, hash } : null;
  } catch {
    return null;
  }
}

/**
 * Where a monitor that starts goes on. When lines were cut off behind our back, the mark still tells where the trail ended: going on from there
 * leaves the hole for everyone to see, where going on from the last line that is left would hide it.
 */
export function whereTrailEnds({ lastAudit, marks }: Pick<Resumption, "lastAudit" | "marks">): AuditPlace | null {
  const marked = readPlace(marks[auditHeadMark]);
  return marked !== null && marked.number >= (lastAudit?.number ?? 0) ? marked : lastAudit;
}

const longestText = 500;

/** As it will come back from any store: half of a character, as a cut may leave, has no UTF-8 and would come back as another. */
const cleanText = (text: string): string => Buffer.from(printable(text, longestText)).toString();

const longestList = 50;

function cleanEvidence(evidence: NewAuditLine["evidence"]): AuditRecord["evidence"] {
  return JSON.parse(JSON.stringify(evidence), (_, value: unknown) => {
    if (typeof value === "string") return cleanText(value);
    return Array.isArray(value) ? value.slice(0, longestList) : value;
  }) as AuditRecord["evidence"];
}
