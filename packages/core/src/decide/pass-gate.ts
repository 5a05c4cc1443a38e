import type { MonoMs, StopRefusal } from "@rouse/contract";
import { earliest } from "../assess/look.ts";
import type { Context } from "../context.ts";
import type { Incident, Stage } from "../incident.ts";
import type { AgentRecord } from "../record.ts";
import { ask } from "./ask-orchestrator.ts";
import { refuseKill, refuseUnsaved } from "./kill-gate.ts";
import { handOver, type Rung, recovered, wait } from "./rung.ts";

/** Reasons that should end by themselves. A freeze is a person's own doing, and they know. */
const endsByItself: ReadonlySet<StopRefusal> = new Set<StopRefusal>([
  "monitor-in-doubt",
  "host-budget",
  "fleet-budget",
]);

/** Orders that led nowhere before it is a person's matter. */
const mostInterrupted = 3;

/** It is to be stopped: the gate, before and after the wait for the work to be saved. */
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
  // It is not stopped, but was told to let go of its task: that is somebody else's from here on.
  if (next === "hand-off" && stop === null && refusal?.because === "well-again") return recovered("handed-off");
  if (refusal === null && stop !== null) return { kind: "order-stop" };
  // To try once more at once would fail once more. Who is attached the holder knows before we do.
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

/** An order of our own that may still be taken back. */
const isOut = (stop: AgentRecord["ending"]["stop"]): boolean =>
  stop !== null &&
  stop.cause !== "ordered" &&
  stop.orderedAt !== null &&
  stop.outcome === null &&
  stop.recalled !== true;

/** A person's order that the holder refused is that person's matter, and over. */
const stopUnderWay = ({ ending: { stop } }: AgentRecord): AgentRecord["ending"]["stop"] =>
  stop?.cause === "ordered" && stop.outcome?.kind === "refused" ? null : stop;

/** What ends by itself is waited for; what does not is asked about once, and then a person's matter. */
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
    // Whoever is only quiet runs on: somebody is asked, and asked again. Whoever was asked and decided so is not asked once more.
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
