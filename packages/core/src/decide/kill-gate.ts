import type { EvidenceClass, MonoMs, Policy, StopRefusal } from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { isIll } from "../assess/health-machine.ts";
import { stateOfTree } from "../assess/process-tree.ts";
import { type Doubt, lastGap } from "../doubt.ts";
import type { AgentRecord, Finding } from "../record.ts";

/** Why an agent may not be stopped now, and when the reason ends by itself if it does. */
export interface KillRefusal {
  readonly because: StopRefusal;
  readonly until: MonoMs | null;
}

/**
 * The kill gate: all of it true at the moment of the decision, and again after every wait. Identity is checked once more by the holder at the instant
 * of the signal; the intent is on disk before anybody hears of it, because nothing acts that was not saved.
 */
export function refuseKill(
  record: AgentRecord,
  now: MonoMs,
  policy: Policy,
  doubt: Doubt,
  ordered: boolean,
): KillRefusal | null {
  if (!isIll(record.health.state) && !(ordered && record.health.state === "DEGRADED")) return lasting("well-again");
  if (doubt.frozen) return lasting("frozen");
  if (policy.mode !== "act") return lasting("mode");
  if (policy.protected) return lasting("protected");
  if ((record.terminal?.attached ?? 0) > 0) return lasting("attached");
  if (record.terminal?.holder !== "here") return lasting("holder-lost");
  const doubted = doubtMonitor(record, now, policy, doubt);
  if (doubted !== null) return doubted;
  const kinds = kindsOfEvidence(record, policy).size + (ordered ? 1 : 0);
  if (kinds < 2) return lasting("one-kind-of-evidence");
  return doubt.brake === null || doubt.brake.until <= now ? null : doubt.brake;
}

const lasting = (because: StopRefusal): KillRefusal => ({ because, until: null });

/** A monitor that has just been blind, or does not trust its own path, stops nobody. */
function doubtMonitor(record: AgentRecord, now: MonoMs, policy: Policy, doubt: Doubt): KillRefusal | null {
  if (doubt.hold !== null) return { because: "monitor-in-doubt", until: now + lookAgainAfter };
  const gap = lastGap(doubt);
  const until = gap === null ? null : gap.to + beatRhythm(record.activity, policy).ttl + policy.amnestyMargin;
  return until !== null && now < until ? { because: "monitor-in-doubt", until } : null;
}

/** What the work's being saved argues. Only the second look can know. */
export function refuseUnsaved(record: AgentRecord, policy: Policy): KillRefusal | null {
  const saved = record.stop?.saved ?? null;
  return saved?.kind === "not-saved" && !policy.saving.acceptFailure ? lasting("work-not-saved") : null;
}

/** An error that repeats with nothing new between rests on two things: what was said, and that nothing else was. Quiet processes are a third. */
export function kindsOfEvidence(record: AgentRecord, policy: Policy): ReadonlySet<EvidenceClass> {
  const kinds = new Set<EvidenceClass>();
  for (const finding of record.findings) {
    if (finding.level === "note" || !speaksAgainst(finding)) continue;
    kinds.add(kindOf(finding));
    if (finding.kind === "repeated-error" && finding.level === "stuck") kinds.add("absence");
  }
  if (kinds.size > 0 && stateOfTree(record, policy).kind === "quiet") kinds.add("resource");
  return kinds;
}

/** That it calls itself unwell and the errors it reports are one word, its own. */
const kindOf = (finding: Finding): EvidenceClass =>
  finding.class === "self-report" ? "explicit-error" : finding.class;

/**
 * What our own doubt holds down is no evidence; whose processes are at work is quiet, not idle; whose work goes on does not stand still; and spending
 * fast is no standstill either.
 */
const speaksAgainst = ({ kind, held, evidence }: Finding): boolean =>
  held === undefined && kind !== "token-spike" && evidence["busy"] !== "yes" && evidence["goesOn"] !== "yes";

/** How long a hold lasts nobody knows; it is asked after this often. */
const lookAgainAfter = 30_000;
