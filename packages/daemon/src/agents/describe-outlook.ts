import { type EpochMs, type EvidenceClass, type MonoMs, type Policy, toIso, type WhyReport } from "@rouse/contract";
import {
  type AgentRecord,
  type Doubt,
  eyesOn,
  foresee,
  isEnough,
  isOver,
  kindsOfEvidence,
  newestFact,
} from "@rouse/core";

/** What would be done about it if nothing changed, and through which eyes it is seen. */
export function describeOutlook(
  record: AgentRecord,
  now: MonoMs,
  policy: Policy,
  doubt: Doubt,
  toWall: (at: MonoMs) => EpochMs,
): Pick<WhyReport, "outlook" | "eyes"> {
  const iso = (at: MonoMs): string => toIso(toWall(at));
  const ended = isOver(record) || record.work.activity.kind === "FINISHED";
  const stage = record.ladder.incident?.stage;
  const decided = stage?.kind === "stopping" && stage.cause === "decided" ? (["order"] as const) : [];
  const evidence: ReadonlySet<EvidenceClass> = new Set([
    ...kindsOfEvidence(record, { now, policy, doubt }),
    ...decided,
  ]);
  const newest = newestFact(record);
  const next = ended || policy.mode === "observe" ? [] : foresee(record, { now, policy, doubt });
  return {
    outlook: {
      quietSeconds: Number.isFinite(newest) && !ended ? Math.max(0, Math.floor((now - newest) / 1000)) : null,
      evidence: [...evidence],
      enough: isEnough(evidence),
      next: next.map(({ what, at }) => ({ what, at: iso(at) })),
    },
    eyes: ended ? [] : eyesOn(record, now).map(({ at, ...seen }) => ({ ...seen, at: at === null ? null : iso(at) })),
  };
}
