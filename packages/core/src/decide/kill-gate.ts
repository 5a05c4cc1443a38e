import type { MonoMs, Policy, StopRefusal } from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { isIll } from "../assess/health-machine.ts";
import { earliest } from "../assess/look.ts";
import { mayLackCheckpoints } from "../breakers/open-breakers.ts";
import type { Context } from "../context.ts";
import { type Gap, lastGap } from "../doubt.ts";
import type { Incident, Stage, StopLife } from "../incident.ts";
import type { AgentRecord } from "../record.ts";
import { ask } from "./ask-orchestrator.ts";
import { isEnough, kindsOfEvidence } from "./evidence.ts";
import { handOver, type Rung, recovered, wait } from "./rung.ts";

/** Why an agent may not be stopped now, and until when, if the reason ends by itself. */
interface KillRefusal {
  readonly because: StopRefusal;
  readonly until: MonoMs | null;
}

/**
 * The kill gate: every condition holds at the decision and again after every wait. The holder checks the identity once
 * more at the signal. The intent is on disk before anybody acts.
 */
export function refuseKill(record: AgentRecord, context: Context, ordered: boolean): KillRefusal | null {
  const { now, policy, doubt } = context;
  const { terminal } = record.seen;
  if (!isIll(record.health.state) && !(ordered && record.health.state === "DEGRADED")) return lasting("well-again");
  if (doubt.frozen) return lasting("frozen");
  if (policy.mode !== "act") return lasting("mode");
  if (policy.protected) return lasting("protected");
  // An agent started by hand is its person's, also in a pipe and when they have just left.
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

/** A monitor that doubts its own path, or has not seen this agent anew since a gap, stops nobody. */
function doubtMonitor(record: AgentRecord, { now, policy, doubt }: Context): KillRefusal | null {
  if (doubt.hold !== null) return { because: "monitor-in-doubt", until: now + lookAgainAfter };
  const gap = lastGap(doubt);
  if (gap === null || isSeenSince(record, gap)) return null;
  const until = gap.to + beatRhythm(record.work.activity, policy).ttl + policy.amnestyMargin;
  return now < until ? { because: "monitor-in-doubt", until } : null;
}

/** The holder has looked at terminal and processes since the gap. Missed beats take a whole TTL to confirm. */
function isSeenSince({ seen: { terminal }, health: { findings } }: AgentRecord, { to }: Gap): boolean {
  const lookedAt = terminal?.tree?.at ?? null;
  if (lookedAt === null || lookedAt <= to) return false;
  return findings.every(({ kind, level }) => kind !== "missed-beats" || level === "note");
}

/**
 * Whether unsaved work forbids the stop. Only the second look at the gate can know. An agent that cannot save its
 * checkpoints has its newest work in memory: then the snapshot of its folder must be there.
 */
function refuseUnsaved(record: AgentRecord, policy: Policy): KillRefusal | null {
  const saved = record.ending.stop?.saved ?? null;
  if (saved === null || saved.kind === "saved" || policy.saving.acceptFailure) return null;
  return saved.kind === "not-saved" || mayLackCheckpoints(record.seen.breakers) ? lasting("work-not-saved") : null;
}

/** A hold ends at an unknown time, so it is looked at this often. */
const lookAgainAfter = 30_000;

/** Reasons that should end by themselves. A freeze is a person's own doing, and they know. */
const endsByItself: ReadonlySet<StopRefusal> = new Set<StopRefusal>([
  "monitor-in-doubt",
  "host-budget",
  "fleet-budget",
]);

/** After so many interrupted orders a person is needed. */
const mostInterrupted = 3;

/** The agent is to be stopped: the gate, before and after its work is saved. */
export function passGate(
  record: AgentRecord,
  incident: Incident,
  { cause, next, interrupted, shut }: Extract<Stage, { kind: "stopping" }>,
  context: Context,
): Rung {
  const { now, policy } = context;
  if (record.seen.terminal === null && next === "hand-off") return recovered("handed-off");
  const stop = stopUnderWay(record);
  if (stop?.outcome?.kind === "refused" || interrupted >= mostInterrupted) return handOver("kill-refused");
  if (stop?.outcome?.kind === "termination_incomplete") return handOver("survivors");
  if (isOut(stop) && refuseKill(record, context, false)?.because === "well-again") return { kind: "recall-stop" };
  if (stop !== null && (stop.orderedAt !== null || stop.saved === null)) return wait();
  const refusal =
    refuseKill(record, context, cause === "decided") ?? (stop === null ? null : refuseUnsaved(record, policy));
  if (record.seen.terminal === null && refusal?.because !== "well-again") return handOver("not-supervised");
  // The agent is not stopped, but was told to let go of its task, which now belongs to somebody else.
  if (next === "hand-off" && stop === null && refusal?.because === "well-again") return recovered("handed-off");
  if (refusal === null && stop !== null) return { kind: "order-stop" };
  // A retry at once would fail again. The holder knows before us who is attached.
  const { refused } = record.ending;
  if (refusal === null && (refused === "work-not-saved" || refused === "attached"))
    return afterRefusal(record, incident, refused, null, context);
  if (refusal === null) return { kind: "save-work", cause };
  if (stop !== null) return { kind: "withdraw-stop", because: refusal.because };
  if (refused !== refusal.because) return { kind: "refuse-stop", because: refusal.because, cause };
  if (endsByItself.has(refusal.because) && shut !== null && !shut.told) {
    const tellAt = shut.since + policy.escalation.timeout;
    if (now >= tellAt) return { kind: "tell-shut", because: refusal.because };
    return wait(earliest(refusal.until, tellAt));
  }
  return afterRefusal(record, incident, refusal.because, refusal.until, context);
}

/** An order of ours that may still be taken back. */
export const isOut = (stop: StopLife | null): stop is StopLife =>
  stop !== null &&
  stop.cause !== "ordered" &&
  stop.orderedAt !== null &&
  stop.outcome === null &&
  stop.recalled !== true;

/** A person's order that the holder refused is over. */
const stopUnderWay = ({ ending: { stop } }: AgentRecord): AgentRecord["ending"]["stop"] =>
  stop?.cause === "ordered" && stop.outcome?.kind === "refused" ? null : stop;

/** A reason that ends by itself is waited for; any other is asked about once, then handed to a person. */
function afterRefusal(
  record: AgentRecord,
  incident: Incident,
  because: StopRefusal,
  until: MonoMs | null,
  context: Context,
): Rung {
  switch (because) {
    case "frozen":
    case "monitor-in-doubt":
    case "host-budget":
    case "fleet-budget":
      return wait(until);
    // A quiet agent runs on, and somebody is asked repeatedly, but not somebody who has just decided so.
    case "one-kind-of-evidence":
      return isDecided(incident) ? handOver("kill-refused") : ask(record, incident, because, context);
    case "mode":
    case "protected":
    case "attached":
    case "holder-lost":
    case "work-not-saved":
      return incident.escalations === 0 ? ask(record, incident, because, context) : handOver(refusedFor[because]);
    case "well-again":
      return recovered("well-again");
    case "already-over":
    case "identity":
    case "order-of-nobody":
    case "overtaken":
      return handOver("kill-refused");
  }
}

const isDecided = ({ stage }: Incident): boolean => stage.kind === "stopping" && stage.cause === "decided";

const refusedFor = {
  mode: "mode",
  protected: "protected",
  attached: "in-a-persons-terminal",
  "holder-lost": "kill-refused",
  "work-not-saved": "kill-refused",
} as const;
