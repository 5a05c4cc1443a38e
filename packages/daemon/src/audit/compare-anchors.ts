import type { KeyObject } from "node:crypto";
import { type AnchorVerdict, type AuditRecord, AuditSeal } from "@rouse/contract";
import { isSignedBy, sealedText } from "./audit-trail.ts";
import type { AuditProblem } from "./check-seals.ts";

/** What was found at an anchor. */
export interface AnchorReading {
  /** Its name, for people. */
  readonly anchor: string;
  /** Oldest first, untrusted; `null` when the anchor could not be read. */
  readonly seals: readonly unknown[] | null;
  /** Why it could not be read. */
  readonly problem: string | null;
  /** Whether it lies in the database's folder: then who can write to one can write to the other. */
  readonly isBeside: boolean;
}

interface Compared {
  readonly verdict: AnchorVerdict;
  readonly problems: readonly AuditProblem[];
}

const mostTold = 3;

/**
 * Whether a trail is the one that was sealed at an anchor. Several trails may be sealed at one place. Those with other
 * keys say nothing about this one; another trail with the same key says that the database was replaced.
 */
export function compareAnchor(
  { anchor, seals, problem }: AnchorReading,
  lines: readonly AuditRecord[],
  store: string | null,
  key: KeyObject | null,
): Compared {
  const found = (seals ?? []).flatMap((seal) => AuditSeal.safeParse(seal).data ?? []);
  const isOurs = (seal: AuditSeal): boolean =>
    key !== null && isSignedBy(key, sealedText(seal.store, seal), seal.signature);
  const own = found.filter((seal) => seal.store === store);
  const good = own.filter(isOurs);
  const newest = good.reduce<AuditSeal | null>((high, seal) => (seal.number > (high?.number ?? 0) ? seal : high), null);
  const problems = [
    ...own
      .filter((seal) => !isOurs(seal))
      .slice(0, mostTold)
      .map(({ number }) => ({ number, problem: `${anchor} holds a seal of it that is not ours` })),
    ...findCut(anchor, newest, lines),
    ...findRewritten(anchor, good, lines),
    ...findReplaced(anchor, found.filter((seal) => seal.store !== store && isOurs(seal)).at(-1)),
  ];
  const says = problems.length > 0 ? "contradicts" : good.length > 0 ? "agrees" : "silent";
  return {
    problems,
    verdict: {
      anchor,
      says,
      newest: newest === null ? null : { number: newest.number, time: newest.time },
      problem: says === "silent" ? (problem ?? "it holds no seal of this trail") : null,
    },
  };
}

function findCut(anchor: string, newest: AuditSeal | null, lines: readonly AuditRecord[]): AuditProblem[] {
  const end = lines.at(-1)?.number ?? 0;
  if (newest === null || newest.number <= end) return [];
  const problem = `cut off: ${anchor} holds the seal of line ${newest.number}, made ${newest.time}, and the trail ends with line ${end}`;
  return [{ number: newest.number, problem }];
}

/** Lines that retention removed cannot be compared; the trail itself says that they were removed. */
function findRewritten(anchor: string, good: readonly AuditSeal[], lines: readonly AuditRecord[]): AuditProblem[] {
  const hashes = new Map(lines.map(({ number, hash }) => [number, hash]));
  return good
    .filter(({ number, hash }) => hashes.has(number) && hashes.get(number) !== hash)
    .slice(0, mostTold)
    .map(({ number, time }) => ({
      number,
      problem: `rewritten: ${anchor} holds another line of this number, sealed ${time}`,
    }));
}

function findReplaced(anchor: string, other: AuditSeal | undefined): AuditProblem[] {
  if (other === undefined) return [];
  const { store, number, time } = other;
  const problem = `replaced: the same key sealed another trail (${store}) at ${anchor}, up to line ${number}, ${time}. If you replaced the database yourself, give the new trail an anchor of its own`;
  return [{ number: null, problem }];
}
