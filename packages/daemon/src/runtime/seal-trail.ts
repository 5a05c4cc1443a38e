import { randomUUID } from "node:crypto";
import type { AuditRecord, AuditSeal } from "@rouse/contract";
import { auditRemovedMark, auditStoreMark, type Resumption, type Store, storeMark } from "../ports/store.ts";
import { type AuditTrail, readPlace, sealEvery, whereTrailEnds } from "./audit-trail.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Moment } from "./steady-clock.ts";
import type { Turns } from "./turns.ts";

/** How far a trail was sealed when a monitor starts. */
export interface SealedSoFar {
  readonly store: string;
  /** Whether there was a first seal: not in a new store, nor in one from before there were seals. */
  readonly hasBegun: boolean;
  /** Whether the last line is signed. */
  readonly isSealed: boolean;
  readonly newest: AuditSeal | null;
}

export async function recallSeals(store: Store, resumption: Resumption): Promise<SealedSoFar> {
  const id = resumption.marks[auditStoreMark];
  if (id === undefined)
    return { store: resumption.marks[storeMark] ?? randomUUID(), hasBegun: false, isSealed: false, newest: null };
  const lines = await store.readAudit({ limit: sealEvery + 1, newestFirst: true });
  const newest = lines.flatMap((line) => sealOf(id, line) ?? [])[0] ?? null;
  const end = whereTrailEnds(resumption);
  const isSealed = newest !== null && newest.number === end?.number && newest.hash === end.hash;
  return { store: id, hasBegun: true, isSealed, newest };
}

/** A signed line, as it is kept elsewhere. */
export function sealOf(store: string, { time, number, hash, signature }: AuditRecord): AuditSeal | null {
  return signature === null ? null : { time, store, number, hash, signature };
}

interface SealingParts {
  readonly audit: AuditTrail;
  readonly seals: SealedSoFar;
  readonly resumption: Resumption;
  readonly turns: Pick<Turns, "addLines">;
  readonly commits: GroupCommit;
  readonly readClock: () => Moment;
}

/** The first and the last word of each run: what the run before left unsealed after a crash, and what this one leaves. */
export function sealRuns({ audit, seals, resumption, turns, commits, readClock }: SealingParts) {
  return {
    start(): void {
      const { time } = readClock();
      if (seals.hasBegun) return turns.addLines(audit.seal(time, "started"));
      commits.draft().marks[auditStoreMark] = audit.store;
      turns.addLines(audit.begin(time, readPlace(resumption.marks[auditRemovedMark])));
    },
    stop: (): void => turns.addLines(audit.seal(readClock().time, "stopped")),
  };
}
