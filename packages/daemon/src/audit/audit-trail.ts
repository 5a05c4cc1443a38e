import { createHash } from "node:crypto";
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
  /** The id it is sealed under. */
  readonly store: string;
  /** The next line. It belongs into the very next commit, with `auditHead` of it as the mark `auditHeadMark`: the line after it refers to it. */
  append(entry: NewAuditLine): AuditRecord;
  /** The seal that has to follow, in the same commit, when there are `sealEvery` lines without one. */
  sealWhenDue(time: EpochMs): AuditRecord[];
  /** Signs all that is there, and says with it what else is to be signed. */
  seal(time: EpochMs, reason: SealReason, evidence?: NewAuditLine["evidence"]): AuditRecord[];
  /** The first seal of all. `removed`: the last line that retention took before there were seals. */
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

/** What the first line of all names as the hash of the line before it. */
export const noHash = "0".repeat(64);

/** So many lines at most may be cut off or written anew by whoever can write to the store. */
export const sealEvery = 64;

export type SealReason = "beginning" | "every-64-lines" | "started" | "stopped";

export const sealAction = "seal";
export const removedAction = "audit-removed";

/** Lines that only we can write: stops, both ordered and done, whose order it was, seals, and what retention removed. Each seals everything before it. */
const signedActions: readonly string[] = [
  ...["terminate", "termination-ordered", "order-stop", "order-restart", "end-leftovers", sealAction, removedAction],
];

/** The last line of a run that ended as it should: until the next run nobody writes anything. */
export const isStoppedSeal = ({ action, reason }: Pick<AuditRecord, "action" | "reason">): boolean =>
  action === sealAction && reason === "stopped";

export const isSigned = ({ action }: Pick<AuditRecord, "action">): boolean => signedActions.includes(action);

/** What is signed: whose trail, which line, and by its hash all that was written up to there. */
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

/** SHA-256 of the canonical JSON of all that the line says, whatever it has besides. */
export function hashOfLine(line: object): string {
  const { hash: _hash, signature: _signature, ...said } = line as Partial<AuditRecord>;
  return createHash("sha256").update(canonicalJson(said)).digest("hex");
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
