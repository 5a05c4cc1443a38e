import {
  type DurationMs,
  describeDuration,
  detailsOf,
  type MonoMs,
  type OrderRefusal,
  type RouseEvent,
  type StopCause,
  type StopRefusal,
  seconds,
} from "@rouse/contract";
import type { Context } from "../context.ts";
import { kindsOfEvidence, restsOnSilence } from "../decide/evidence.ts";
import { isOut } from "../decide/kill-gate.ts";
import type { Incident, StopLife } from "../incident.ts";
import { type AgentRecord, lifeOf, withEnding } from "../record.ts";
import type { Action, ActionOutcome, Signal } from "../signal.ts";
import { type Intervened, raiseAlert, unchanged, withActions, withEvents } from "./alert-life.ts";

export interface StopOrder {
  readonly key: string;
  readonly cause: StopCause;
  readonly actor: string;
  readonly thenRestart: boolean;
  readonly force: boolean;
}

/** Saves the work first. The order follows after that, if everything still holds. */
export function saveWork(record: AgentRecord, order: StopOrder, { now, policy }: Context): Intervened {
  const { agentId, incarnation } = lifeOf(record);
  const stop: StopLife = { ...order, decidedAt: now, saved: null, orderedAt: null, evidence: [], outcome: null };
  const counts = { ...record.ladder.counts, stops: record.ladder.counts.stops + 1 };
  return withActions(
    { ...record, ending: { ...record.ending, stop, refused: null }, ladder: { ...record.ladder, counts } },
    { kind: "save-work", key: `${order.key}/work`, agentId, incarnation, within: policy.saving.within },
  );
}

/** Orders the holder to stop the agent. */
export function orderStop(record: AgentRecord, stop: StopLife, context: Context): Intervened {
  const { now, policy } = context;
  const { stopGrace: grace } = policy;
  const { agentId, incarnation } = lifeOf(record);
  const { key, cause, actor } = stop;
  const evidence = evidenceFor(record, cause, context);
  const payload = { agentId, incarnation, key, actor, because: cause, evidence };
  return {
    record: withEnding(record, { stop: { ...stop, orderedAt: now, evidence } }),
    events: [{ type: "TERMINATION_ORDERED", payload }],
    actions: [{ kind: "stop-agent", key, agentId, incarnation, grace, ...validity(record, cause, context) }],
  };
}

/** Longer than a busy machine takes to save and deliver an order; shorter than an agent takes to change. */
const ordersLast: DurationMs = seconds(10);

/** What was true at the decision must be true at the stop: the holder may have been paused in between. */
function validity(record: AgentRecord, cause: StopCause, { now, policy }: Context) {
  if (cause === "ordered") return { spends: false };
  const isSilent = cause !== "decided" && restsOnSilence(record, policy);
  return { spends: true, notAfter: now + ordersLast, ...(isSilent ? { silentAt: now } : {}) };
}

/** The matter is over while our order is out. A stop that the holder has begun cannot be taken back. */
export function recallStop(record: AgentRecord): Intervened {
  const { agentId, incarnation } = lifeOf(record);
  const { stop } = record.ending;
  if (!isOut(stop)) return unchanged(record);
  const action: Action = { kind: "withdraw-stop", key: `${stop.key}/over`, agentId, incarnation, stop: stop.key };
  return withActions(withEnding(record, { stop: { ...stop, recalled: true } }), action);
}

/** Something changed while the work was being saved. */
export function withdrawStop(record: AgentRecord, because: StopRefusal): Intervened {
  const cause = record.ending.stop?.cause ?? "ordered";
  return {
    ...refuseStop(record, because, cause),
    record: withEnding(record, { stop: null, refused: because }),
  };
}

export function refuseStop(record: AgentRecord, because: StopRefusal, cause: StopCause): Intervened {
  const { agentId } = record;
  return withEvents(withEnding(record, { refused: because }), {
    type: "TERMINATION_REFUSED",
    payload: { agentId, because, cause },
  });
}

/** The agent should be stopped and the gate does not open: a person has to look. */
export function tellShutGate(
  record: AgentRecord,
  { illness, cause }: Pick<Incident, "illness" | "cause">,
  because: StopRefusal,
  since: MonoMs,
  now: MonoMs,
): Intervened {
  const { agentId, health } = record;
  const lasted = describeDuration(now - since);
  const summary = `${agentId} should be stopped (${illness}: ${cause}) and cannot be for ${lasted}: ${because}`;
  return raiseAlert(record, { cause: health.reason, severity: "critical" }, summary, now);
}

const evidenceFor = (record: AgentRecord, cause: StopCause, context: Context): string[] => [
  ...(cause === "ordered" || cause === "decided" ? ["order"] : []),
  ...kindsOfEvidence(record, context),
  ...record.health.findings.filter(({ level }) => level !== "note").map(({ text }) => text),
];

/** The outcomes: whether the work is saved, and how the stop went. Survivors never count as stopped. */
export function followStop(record: AgentRecord, signal: Signal): Intervened {
  const { stop } = record.ending;
  if (stop === null || signal.kind !== "action-outcome" || signal.outcome === "delivered") return unchanged(record);
  const { outcome } = signal;
  if (signal.key === `${stop.key}/work` && outcome.kind === "work" && stop.saved === null)
    return noteWork(record, stop, outcome);
  if (signal.key === stop.key && outcome.kind === "interrupted" && stop.outcome === null)
    return { ...decideAnew(record, stop), actions: recallStop(record).actions };
  if (signal.key !== stop.key || outcome.kind !== "stop" || stop.outcome !== null) return unchanged(record);
  if (outcome.stop.kind === "refused" && outcome.stop.because === "attached") return yieldToPerson(record, stop);
  // A person's order has no such conditions.
  if (outcome.stop.kind === "refused" && stop.cause !== "ordered" && overtaken.has(outcome.stop.because))
    return tellOvertaken(record, stop);
  return withEvents(
    withEnding(record, { stop: { ...stop, outcome: outcome.stop } }),
    ...describe(record, stop, outcome.stop),
  );
}

const overtaken: ReadonlySet<OrderRefusal> = new Set<OrderRefusal>(["too-late", "moved-since"]);

/** The reason for the stop is over or unknown by now: it is decided anew. */
function tellOvertaken(record: AgentRecord, stop: StopLife): Intervened {
  const payload = { agentId: record.agentId, because: "overtaken", cause: stop.cause } as const;
  return { ...decideAnew(record, stop), events: [{ type: "TERMINATION_REFUSED", payload }] };
}

/** The holder sees a person at the terminal. A person's own order goes out once more; ours is withdrawn. */
function yieldToPerson(record: AgentRecord, stop: StopLife): Intervened {
  return stop.cause === "ordered" ? decideAnew(record, stop) : withdrawStop(record, "attached");
}

/** After a crash, or without contact to the holder, time has passed: everything is decided anew before a stop. */
function decideAnew(record: AgentRecord, stop: StopLife): Intervened {
  const { incident } = record.ladder;
  // A person took the order over, so it goes out once more.
  if (stop.cause === "ordered")
    return unchanged(withEnding(record, { stop: { ...stop, key: `${stop.key}/again`, orderedAt: null } }));
  const stage = incident?.stage;
  if (incident === null || stage?.kind !== "stopping") return unchanged(withEnding(record, { stop: null }));
  const again = { ...incident, stage: { ...stage, interrupted: stage.interrupted + 1 } };
  return unchanged({
    ...record,
    ending: { ...record.ending, stop: null },
    ladder: { ...record.ladder, incident: again },
  });
}

/** The agent ended by our stop although the answer never came. */
export function concludeStop(record: AgentRecord): Intervened {
  const { incident } = record.ladder;
  const { stop } = record.ending;
  const { terminal } = record.seen;
  const unseen = terminal?.exit?.cause === "stopped" && stop?.outcome?.kind !== "stopped";
  if (!unseen || incident?.stage.kind !== "stopping") return unchanged(record);
  const { cause, actor } = incident.stage;
  const life = { key: "", cause, actor, decidedAt: incident.openedAt, thenRestart: false, force: false };
  const outcome = { kind: "stopped", forced: false, processes: 0 } as const;
  const ended: StopLife = { ...(stop ?? { ...life, saved: null, orderedAt: null, evidence: [] }), cause, outcome };
  return withEvents(withEnding(record, { stop: ended }), ...describe(record, ended, outcome));
}

/** The same for a person's order: after a crash the holder found the agent ended and no longer knew by which order. */
export function concludeOrder(record: AgentRecord): Intervened {
  const { stop } = record.ending;
  const { terminal } = record.seen;
  const exit = terminal?.exit ?? null;
  if (stop?.cause !== "ordered" || stop.outcome?.kind !== "already-over" || exit?.cause !== "stopped")
    return unchanged(record);
  const outcome = { kind: "stopped", forced: exit.signal === "SIGKILL", processes: 0 } as const;
  return withEvents(withEnding(record, { stop: { ...stop, outcome } }), ...describe(record, stop, outcome));
}

function noteWork(record: AgentRecord, stop: StopLife, { work }: Extract<ActionOutcome, { kind: "work" }>): Intervened {
  const { agentId, incarnation } = lifeOf(record);
  const events: RouseEvent[] =
    work.kind === "saved"
      ? [{ type: "WORK_SAVED", payload: { agentId, incarnation, commit: work.commit, changed: work.changed } }]
      : work.kind === "not-saved"
        ? [{ type: "WORK_NOT_SAVED", payload: { agentId, incarnation, problem: work.problem } }]
        : [];
  return withEvents(withEnding(record, { stop: { ...stop, saved: work } }), ...events);
}

function describe(record: AgentRecord, stop: StopLife, outcome: NonNullable<StopLife["outcome"]>): RouseEvent[] {
  const { agentId, incarnation } = lifeOf(record);
  const { cause: because, actor } = stop;
  switch (outcome.kind) {
    case "stopped": {
      const snapshot = stop.saved?.kind === "saved" ? stop.saved.commit : null;
      const reason = record.ladder.incident === null ? because : `${record.ladder.incident.illness}: ${because}`;
      const evidence = [...stop.evidence];
      const { forced, tier } = outcome;
      const { checkpoint } = record.task;
      const told = { ...(tier && { tier }), ...detailsOf(outcome) };
      const payload = { agentId, incarnation, actor, because, reason, forced, checkpoint, snapshot, evidence, ...told };
      return [{ type: "AGENT_TERMINATED", payload }];
    }
    case "already-over":
      return [{ type: "TERMINATION_REFUSED", payload: { agentId, because: "already-over", cause: because } }];
    case "refused":
      return [{ type: "TERMINATION_REFUSED", payload: { agentId, because: "identity", cause: because } }];
    case "termination_incomplete":
      return [{ type: "TERMINATION_INCOMPLETE", payload: { agentId, incarnation, survivors: [...outcome.survivors] } }];
  }
}
