import { randomUUID } from "node:crypto";
import type { AuditRecord, AuditSeal } from "@rouse/contract";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { auditRemovedMark, auditStoreMark, type Resumption, type Store, storeMark } from "../ports/store.ts";
import { type AuditTrail, isStoppedSeal, readPlace, sealEvery, whereTrailEnds } from "./audit-trail.ts";

/** How far the trail is sealed when a monitor starts. */
export interface SealedSoFar {
  readonly store: string;
  /** Whether there is a first seal: not in a new store, nor in one from before there were seals. */
  readonly hasBegun: boolean;
  /** Whether the last line is signed. */
  readonly isSealed: boolean;
  /** How many lines were found after the newest signature. */
  readonly unsealed: number;
  /** How the last run ended: `stopped` when it left its last seal. */
  readonly runBefore: "stopped" | "died";
  readonly newest: AuditSeal | null;
}

export async function recallSeals(store: Store, resumption: Resumption): Promise<SealedSoFar> {
  const id = resumption.marks[auditStoreMark];
  if (id === undefined)
    return { store: resumption.marks[storeMark] ?? randomUUID(), hasBegun: false, ...nothingSealed };
  const lines = await store.readAudit({ limit: sealEvery + 1, newestFirst: true });
  const at = lines.findIndex(({ signature }) => signature !== null);
  const signed = lines[at];
  if (signed === undefined) return { store: id, hasBegun: true, ...nothingSealed, unsealed: lines.length };
  const end = whereTrailEnds(resumption);
  const isSealed = signed.number === end?.number && signed.hash === end.hash;
  const runBefore = isStoppedSeal(signed) ? "stopped" : "died";
  return { store: id, hasBegun: true, isSealed, unsealed: at, runBefore, newest: sealOf(id, signed) };
}

const nothingSealed = { isSealed: false, unsealed: 0, runBefore: "died", newest: null } as const;

/** A signed line as anchors keep it. */
export function sealOf(store: string, { time, number, hash, signature }: AuditRecord): AuditSeal | null {
  return signature === null ? null : { time, store, number, hash, signature };
}

interface SealingParts {
  readonly audit: AuditTrail;
  readonly seals: SealedSoFar;
  readonly resumption: Resumption;
  readonly engine: Pick<Engine, "addLines">;
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
}

/**
 * Writes the first and the last seal of each run. Our signature over lines that were found unsigned must not say that
 * we wrote them: the first seal says how many there were, and how the last run ended.
 */
export function sealRuns({ audit, seals, resumption, engine, commits, readClock }: SealingParts) {
  return {
    start(): void {
      const { time } = readClock();
      const { hasBegun, isSealed, unsealed, runBefore } = seals;
      // A run that died right after a seal has left nothing unsealed.
      if (hasBegun && isSealed && runBefore === "died") return;
      if (hasBegun) return engine.addLines(audit.seal(time, "started", { unsealed, runBefore }));
      commits.draft().marks[auditStoreMark] = audit.store;
      engine.addLines(audit.begin(time, readPlace(resumption.marks[auditRemovedMark])));
    },
    stop: (): void => engine.addLines(audit.seal(readClock().time, "stopped")),
  };
}
