import type { MonoMs, Policy, StopRefusal } from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { isIll } from "../assess/health-machine.ts";
import type { Context } from "../context.ts";
import { type Gap, lastGap } from "../doubt.ts";
import type { AgentRecord } from "../record.ts";
import { isEnough, kindsOfEvidence } from "./evidence.ts";

/** Why an agent may not be stopped now, and when the reason ends by itself if it does. */
export interface KillRefusal {
  readonly because: StopRefusal;
  readonly until: MonoMs | null;
}

/**
 * The kill gate: all of it true at the moment of the decision, and again after every wait. Identity is checked once more by the holder at the instant
 * of the signal; the intent is on disk before anybody hears of it, because nothing acts that was not saved.
 */
export function refuseKill(record: AgentRecord, context: Context, ordered: boolean): KillRefusal | null {
  const { now, policy, doubt } = context;
  const { terminal } = record.seen;
  if (!isIll(record.health.state) && !(ordered && record.health.state === "DEGRADED")) return lasting("well-again");
  if (doubt.frozen) return lasting("frozen");
  if (policy.mode !== "act") return lasting("mode");
  if (policy.protected) return lasting("protected");
  // Started by hand it is its person's, also in a pipe, where no terminal shows them, and when they have just left.
  if (terminal?.foreground === true || (terminal?.attached ?? 0) > 0) return lasting("attached");
  if (terminal?.holder !== "here") return lasting("holder-lost");
  const doubted = doubtMonitor(record, context);
  if (doubted !== null) return doubted;
  const kinds = new Set(kindsOfEvidence(record, context));
  if (ordered) kinds.add("order");
  if (!isEnough(kinds)) return lasting("one-kind-of-evidence");
  return doubt.brake === null || doubt.brake.until <= now ? null : doubt.brake;
}

const lasting = (because: StopRefusal): KillRefusal => ({ because, until: null });

/** A monitor that does not trust its own path, or was blind and has not seen this agent anew with every eye since, stops nobody. */
function doubtMonitor(record: AgentRecord, { now, policy, doubt }: Context): KillRefusal | null {
  if (doubt.hold !== null) return { because: "monitor-in-doubt", until: now + lookAgainAfter };
  const gap = lastGap(doubt);
  if (gap === null || isSeenSince(record, gap)) return null;
  const until = gap.to + beatRhythm(record.work.activity, policy).ttl + policy.amnestyMargin;
  return now < until ? { because: "monitor-in-doubt", until } : null;
}

/** Its holder has looked at terminal and processes since. Silence of its beats is another eye: that one takes a whole TTL to report. */
function isSeenSince({ seen: { terminal }, health: { findings } }: AgentRecord, { to }: Gap): boolean {
  const lookedAt = terminal?.tree?.at ?? null;
  if (lookedAt === null || lookedAt <= to) return false;
  return findings.every(({ kind, level }) => kind !== "missed-beats" || level === "note");
}

/** What the work's being saved argues. Only the second look can know. */
export function refuseUnsaved(record: AgentRecord, policy: Policy): KillRefusal | null {
  const saved = record.ending.stop?.saved ?? null;
  return saved?.kind === "not-saved" && !policy.saving.acceptFailure ? lasting("work-not-saved") : null;
}

/** How long a hold lasts nobody knows; it is asked after this often. */
const lookAgainAfter = 30_000;
