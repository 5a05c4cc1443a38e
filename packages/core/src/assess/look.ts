import type { FindingLevel, MonoMs, Restraint } from "@rouse/contract";
import type { Context } from "../context.ts";
import type { AgentRecord, Finding } from "../record.ts";

/** What a detector sees now, and when it wants to look again if nothing else happens. */
export interface Look {
  readonly finding: Finding | null;
  readonly lookAgainAt: MonoMs | null;
}

export type Detector = (record: AgentRecord, context: Context) => Look;

export const nothing: Look = { finding: null, lookAgainAt: null };

export const nothingUntil = (lookAgainAt: MonoMs | null): Look => ({ finding: null, lookAgainAt });

type Concluded = Omit<Finding, "since" | "restrainedBy"> & { readonly restrainedBy?: Restraint | undefined };

/** UNRESPONSIVE outweighs FAILING, which outweighs STUCK: the remedy for the first makes the others moot. */
export const gravity: Readonly<Record<FindingLevel, number>> = {
  note: 0,
  degraded: 1,
  stuck: 2,
  failing: 3,
  unresponsive: 4,
};

/** A finding keeps the moment it was first made for as long as it stands. */
export function conclude(record: AgentRecord, now: MonoMs, concluded: Concluded): Finding {
  const before = record.health.findings.find((finding) => finding.kind === concluded.kind);
  const { restrainedBy, ...rest } = concluded;
  return { ...rest, since: before?.since ?? now, ...(restrainedBy === undefined ? {} : { restrainedBy }) };
}

/** A detector's answer that has a finding. */
export const found = (record: AgentRecord, now: MonoMs, lookAgainAt: MonoMs | null, concluded: Concluded): Look => ({
  finding: conclude(record, now, concluded),
  lookAgainAt,
});

export function earliest(a: MonoMs | null, b: MonoMs | null): MonoMs | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}

export const wholeSeconds = (ms: number): number => Math.floor(ms / 1000);
