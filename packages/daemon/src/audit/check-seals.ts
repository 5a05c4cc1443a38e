import type { KeyObject } from "node:crypto";
import type { AuditRecord, AuditVerdict } from "@rouse/contract";
import type { AuditPlace } from "../ports/store.ts";
import {
  isSigned,
  isSignedBy,
  isStoppedSeal,
  removedAction,
  sealAction,
  sealEvery,
  sealedText,
} from "./audit-trail.ts";

/** What is known of a trail besides its lines. */
export interface AuditEnds {
  /** The last line; there may be newer ones by now. */
  readonly head: AuditPlace | null;
  /** The id that the trail is sealed under; `null` from before there were seals. */
  readonly store: string | null;
  /** The last line that retention removed, for a trail without seals. A sealed trail says it itself, signed. */
  readonly removed: AuditPlace | null;
  /** When the Rouse that wrote the trail gave out this head; `null` when the head was read from the database. */
  readonly told: { readonly time: string; readonly signature: string } | null;
}

export type AuditProblem = AuditVerdict["problems"][number];

type Stretch = NonNullable<AuditVerdict["unsealed"]>;

/** Which lines are signed, which must be, and what the signed ones say about the trail itself. */
export function checkSeals(lines: readonly AuditRecord[], key: KeyObject | null, ends: AuditEnds | undefined) {
  const store = ends?.store ?? storeIn(lines);
  const isSealed = store !== null;
  const beginnings = lines.filter(isBeginning);
  const beginsAt = beginnings[0]?.number ?? 0;
  /** Before the first seal only terminations were signed, and only their hash. */
  const isOld = ({ number }: AuditRecord): boolean => !isSealed || number < beginsAt;
  const hasToBeSigned = (line: AuditRecord): boolean => (isOld(line) ? line.action === "terminate" : isSigned(line));
  const textOf = (line: AuditRecord): string => (isOld(line) ? line.hash : sealedText(store ?? "", line));

  /** What is wrong with the signature of a line, or with its absence. */
  function problemWith(line: AuditRecord): string | null {
    if (line.signature === null) return hasToBeSigned(line) ? `it is about ${nameKind(line)} and is not signed` : null;
    if (key === null) return "its signature cannot be checked";
    return isSignedBy(key, textOf(line), line.signature) ? null : "its signature is not ours";
  }

  const signed = lines.filter((line) => line.signature !== null && problemWith(line) === null);
  const seals = signed.filter((line) => !isOld(line));
  const newest = seals.at(-1) ?? null;
  const last = lines.at(-1)?.number ?? 0;
  const gaps = checkGaps(lines, seals, isOld);
  return {
    /** The id that the trail is sealed under; `null` from before there were seals. */
    store,
    problemWith,
    signatures: signed.length,
    /** The newest line with a good signature. */
    newest,
    /** Lines from before the first seal. */
    takenOver: beginsAt > 1 && isSealed ? { from: lines[0]?.number ?? 1, to: beginsAt - 1 } : null,
    /** Lines after the newest seal. */
    unsealed: isSealed && last > (newest?.number ?? 0) ? { from: (newest?.number ?? 0) + 1, to: last } : null,
    /** Stretches that runs left unsealed when they died. */
    foundOpen: isSealed ? gaps.foundOpen : [],
    /** The last line that retention removed. */
    removed: isSealed ? removedIn(seals) : (ends?.removed ?? null),
    problems: isSealed ? [...gaps.problems, ...beginnings.slice(1).map(secondBeginning)] : [],
  };
}

export type CheckedSeals = ReturnType<typeof checkSeals>;

const isBeginning = ({ action, reason }: AuditRecord): boolean => action === sealAction && reason === "beginning";

function storeIn(lines: readonly AuditRecord[]): string | null {
  const store = lines.find(({ action }) => action === sealAction)?.evidence["store"];
  return typeof store === "string" ? store : null;
}

const nameKind = ({ action }: AuditRecord): string => {
  if (action === sealAction) return "a seal";
  if (action.startsWith("order-")) return "an order";
  return action === removedAction ? "what retention removed" : "a termination";
};

/** The newest such line counts: each names the last line removed so far. */
function removedIn(seals: readonly AuditRecord[]): AuditPlace | null {
  const said = seals.findLast((line) => line.action === removedAction || isBeginning(line));
  const { number, hash } = (said?.evidence["removed"] ?? {}) as Partial<AuditPlace>;
  return typeof number === "number" && typeof hash === "string" ? { number, hash } : null;
}

/** An unsigned stretch that is longer than we leave one, or follows the end of a run, was written by somebody else. */
function checkGaps(
  lines: readonly AuditRecord[],
  seals: readonly AuditRecord[],
  isOld: (line: AuditRecord) => boolean,
): { problems: AuditProblem[]; foundOpen: Stretch[] } {
  const sealed = new Set(seals);
  const problems: AuditProblem[] = [];
  const foundOpen: Stretch[] = [];
  let run: AuditRecord[] = [];
  let seal: AuditRecord | null = null;
  const close = (next: AuditRecord | null): void => {
    const [from, to] = [run[0]?.number ?? 0, run.at(-1)?.number ?? 0];
    if (seals.length === 0 && run.length > 0)
      problems.push({ number: from, problem: "nothing from here on is sealed, though this Rouse seals its trail" });
    else if (run.length > 0 && ((seal !== null && isStoppedSeal(seal)) || saysRunBefore(next, "stopped")))
      problems.push({ number: from, problem: nameAdded(run.length) });
    else if (run.length > sealEvery)
      problems.push({
        number: from,
        problem: `${nameLines(from, to)} not sealed, though every ${sealEvery} lines are`,
      });
    else if (run.length > 0 && saysRunBefore(next, "died")) foundOpen.push({ from, to });
    run = [];
    seal = next;
  };
  for (const line of lines) {
    if (isOld(line)) continue;
    if (sealed.has(line)) close(line);
    else run.push(line);
  }
  close(null);
  return { problems, foundOpen };
}

/** A run that starts signs how it found the trail. */
const saysRunBefore = (seal: AuditRecord | null, ended: "stopped" | "died"): boolean =>
  seal?.action === sealAction && seal.reason === "started" && seal.evidence["runBefore"] === ended;

const nameAdded = (count: number): string =>
  `${count === 1 ? "1 line was" : `${count} lines were`} added after Rouse had stopped: not written by Rouse`;

const secondBeginning = ({ number }: AuditRecord): AuditProblem => ({
  number,
  problem: "the trail was begun a second time here: what stands before it may have been written anew",
});

export const nameLines = (from: number, to: number): string =>
  from === to ? `line ${from} is` : `lines ${from} to ${to} are`;
