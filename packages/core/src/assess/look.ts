import type { EvidenceClass, FindingKind, FindingLevel, HeldBecause, MonoMs, Policy } from "@rouse/contract";
import type { Doubt } from "../doubt.ts";
import type { AgentRecord, Finding } from "../record.ts";

/** What a detector sees now, and when it wants to look again if nothing else happens. */
export interface Look {
  readonly finding: Finding | null;
  readonly lookAgainAt: MonoMs | null;
}

export type Detector = (record: AgentRecord, now: MonoMs, policy: Policy, doubt: Doubt) => Look;

export const nothing: Look = { finding: null, lookAgainAt: null };

export const nothingUntil = (lookAgainAt: MonoMs | null): Look => ({ finding: null, lookAgainAt });

export interface Concluded {
  readonly kind: FindingKind;
  readonly level: FindingLevel;
  readonly confidence: number;
  readonly class: EvidenceClass;
  readonly text: string;
  readonly evidence: Readonly<Record<string, number | string>>;
  readonly held?: HeldBecause | undefined;
}

/** A finding keeps the moment it was first made for as long as it stands. */
export function conclude(record: AgentRecord, now: MonoMs, concluded: Concluded): Finding {
  const before = record.findings.find((finding) => finding.kind === concluded.kind);
  const { held, ...rest } = concluded;
  return { ...rest, since: before?.since ?? now, ...(held === undefined ? {} : { held }) };
}

export function earliest(a: MonoMs | null, b: MonoMs | null): MonoMs | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}

export const wholeSeconds = (ms: number): number => Math.floor(ms / 1000);
