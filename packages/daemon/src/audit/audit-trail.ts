import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { type AuditRecord, canonicalJson, type EpochMs, printable, toIso } from "@rouse/contract";
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
  /** The id that the trail is sealed under. */
  readonly store: string;
  /** The next line. It must be in the next commit with its `auditHead` as mark: the line after refers to it. */
  append(entry: NewAuditLine): AuditRecord;
  /** The seal that must follow in the same commit when `sealEvery` lines are without one. */
  sealWhenDue(time: EpochMs): AuditRecord[];
  /** Signs everything so far, and `evidence` with it. */
  seal(time: EpochMs, reason: SealReason, evidence?: NewAuditLine["evidence"]): AuditRecord[];
  /** The first seal of all. `removed`: the last line that retention removed before there were seals. */
  begin(time: EpochMs, removed: AuditPlace | null): AuditRecord[];
}

interface TrailParts {
  /** Where the trail ends so far: see `whereTrailEnds`. */
  readonly last: AuditPlace | null;
  readonly store: string;
  /** Whether the last line is signed. */
  readonly isSealed: boolean;
  /** Ed25519 over a text, in base64. */
  readonly sign: (text: string) => string;
}

/** The first line of all has this as the hash of the line before it. */
export const noHash = "0".repeat(64);

/** At most so many lines can be cut off or rewritten unnoticed by somebody who can write to the store. */
export const sealEvery = 64;

type SealReason = "beginning" | "every-64-lines" | "started" | "stopped";

export const sealAction = "seal";
export const removedAction = "audit-removed";

/** Actions whose lines are signed: stops, orders of people, seals and removals. Each seals everything before it. */
const signedActions: readonly string[] = [
  ...["terminate", "termination-ordered", "order-stop", "order-restart", "end-leftovers", sealAction, removedAction],
];

/** The last line of a run that ended as it should: no line follows before the next run. */
export const isStoppedSeal = ({ action, reason }: Pick<AuditRecord, "action" | "reason">): boolean =>
  action === sealAction && reason === "stopped";

export const isSigned = ({ action }: Pick<AuditRecord, "action">): boolean => signedActions.includes(action);

/** The signed text: which trail, which line, and by its hash everything up to there. */
export const sealedText = (store: string, { number, hash }: AuditPlace): string =>
  `rouse audit ${store} ${number} ${hash}`;

export function keepAuditTrail({ last, store, isSealed, sign }: TrailParts): AuditTrail {
  let end: AuditPlace = last ?? { number: 0, hash: noHash };
  let unsealed = isSealed ? 0 : 1;

  function write({ time, actor, action, subject, reason, evidence, policy }: NewAuditLine): AuditRecord {
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
    end = { number: line.number, hash: hashOfLine(line) };
    unsealed = isSigned(line) ? 0 : unsealed + 1;
    return { ...line, hash: end.hash, signature: isSigned(line) ? sign(sealedText(store, end)) : null };
  }

  const writeSeal = (time: EpochMs, reason: SealReason, evidence: NewAuditLine["evidence"] = {}): AuditRecord =>
    write({
      time,
      actor: "rouse",
      action: sealAction,
      subject: null,
      reason,
      evidence: { store, ...evidence },
      policy: null,
    });

  return {
    store,
    append: write,
    sealWhenDue: (time) => (unsealed < sealEvery ? [] : [writeSeal(time, "every-64-lines")]),
    seal: (time, reason, evidence) => [writeSeal(time, reason, evidence)],
    begin: (time, removed) => [writeSeal(time, "beginning", { removed })],
  };
}

/** SHA-256 of the canonical JSON of a line without its hash and signature. */
export function hashOfLine(line: object): string {
  const { hash: _hash, signature: _signature, ...said } = line as Partial<AuditRecord>;
  return createHash("sha256").update(canonicalJson(said)).digest("hex");
}

export { auditHeadMark };

/** The value of `auditHeadMark` after a line. */
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
 * Where a starting monitor continues the trail. When lines were cut off, the mark still says where the trail ended:
 * continuing there leaves the hole visible, and continuing after the last line left would hide it.
 */
export function whereTrailEnds({ lastAudit, marks }: Pick<Resumption, "lastAudit" | "marks">): AuditPlace | null {
  const marked = readPlace(marks[auditHeadMark]);
  return marked !== null && marked.number >= (lastAudit?.number ?? 0) ? marked : lastAudit;
}

const longestText = 500;

/** A text as any store gives it back: half of a surrogate pair, as a cut may leave it, is not valid UTF-8. */
const cleanText = (text: string): string => Buffer.from(printable(text, longestText)).toString();

const longestList = 50;

function cleanEvidence(evidence: NewAuditLine["evidence"]): AuditRecord["evidence"] {
  return JSON.parse(JSON.stringify(evidence), (_, value: unknown) => {
    if (typeof value === "string") return cleanText(value);
    return Array.isArray(value) ? value.slice(0, longestList) : value;
  }) as AuditRecord["evidence"];
}

/** The signed text when the trail is given out: how far it went at that time. */
export const headText = (store: string, { number, hash }: AuditPlace, time: string): string =>
  `rouse audit head ${store} ${number} ${hash} ${time}`;

/** `null` when it is no Ed25519 key. */
export function readPublicKey(pem: string): KeyObject | null {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key : null;
  } catch {
    return null;
  }
}

export function isSignedBy(key: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, "base64");
  // The same bytes have more than one base64 text; only the one we write counts.
  return bytes.toString("base64") === signature && verify(null, Buffer.from(text), key, bytes);
}
