import { seconds } from "@rouse/contract";
import { terminated } from "../assess/health-machine.ts";
import { wasStopped } from "../assess/terminal-signs.ts";
import type { Context } from "../context.ts";
import type { StopLife } from "../incident.ts";
import { endedAtLimit, isStanding } from "../limit.ts";
import { type AgentRecord, hasLeftovers, isStartingAgain, lifeOf, withEnding, withSeen } from "../record.ts";
import { isBetweenRuns } from "../restart-rule.ts";
import type { OrderSignal, Signal } from "../signal.ts";
import { type Intervened, unchanged, withEvents } from "./alert-life.ts";
import { closeIncident, openIncident } from "./incident-life.ts";
import { orderStop, refuseStop, type StopOrder, saveWork, withdrawStop } from "./stop-life.ts";

/** A person's order needs no evidence and no budget, but no freeze either; the work is saved first like any other's. */
export function obeyOrder(record: AgentRecord, signal: Signal, context: Context): Intervened {
  if (record.seen.terminal === null) return unchanged(record);
  if (signal.kind === "ordered") return takeOrder(record, signal, context);
  return mustEndLeftovers(record, context)
    ? saveWork(record, leftoversOrder(record), context)
    : orderAfterSaving(record, context);
}

/** So long the children of an agent that has just ended get to notice. */
const leftoverGrace = seconds(10);

/** The owner's rule `on_leftovers: end` is an order given in advance, once for each life. */
function mustEndLeftovers(record: AgentRecord, { now, policy, doubt }: Context): boolean {
  const since = record.seen.terminal?.leftovers?.since ?? null;
  if (since === null || record.ending.stop !== null || doubt.frozen) return false;
  return policy.terminal.endLeftovers && policy.mode === "act" && !policy.protected && now - since >= leftoverGrace;
}

const leftoversOrder = ({ agentId, life: { incarnation } }: AgentRecord): StopOrder => ({
  key: `${agentId}/${incarnation}/leftovers`,
  cause: "ordered",
  actor: "policy",
  thenRestart: false,
  force: true,
});

function takeOrder(record: AgentRecord, order: OrderSignal, context: Context): Intervened {
  const { doubt } = context;
  const thenRestart = order.order === "restart";
  const isDown = record.seen.terminal?.exit != null && !hasLeftovers(record);
  // A stop of an agent that is down harms nobody, so a freeze does not forbid it.
  if (isDown && !thenRestart && isComingBack(record)) return cancelRestart(record, order, context);
  if (doubt.frozen) return refuseStop(record, "frozen", "ordered");
  // Nothing is left to stop. A restart needs nothing to stop.
  if (isDown) return thenRestart ? unchanged(record) : refuseStop(record, "already-over", "ordered");
  const { key, actor, force } = order;
  const { stop } = record.ending;
  if (stop?.key === key) return unchanged(record);
  if (stop !== null && stop.orderedAt !== null && stop.outcome === null) return adopt(record, stop, actor, thenRestart);
  return saveWork(record, { key, cause: "ordered", actor, thenRestart, force }, context);
}

/** The agent is down and we would start it again. One that is being started is stopped once it is there. */
export const isComingBack = (record: AgentRecord): boolean =>
  !isStartingAgain(record) && (record.ladder.incident !== null || endedAtLimit(record) || isBetweenRuns(record));

/** A stop between two lives cancels the next one. */
function cancelRestart(record: AgentRecord, order: OrderSignal, context: Context): Intervened {
  const { now } = context;
  const { agentId, health } = record;
  const { incarnation } = record.life;
  const opened =
    record.ladder.incident === null ? openIncident(record, "UNRESPONSIVE", health.reason, context) : unchanged(record);
  const { incident } = opened.record.ladder;
  if (incident === null) return opened;
  const limit = isStanding(record.seen.limit) ? { ...record.seen.limit, resumedAt: now } : record.seen.limit;
  const closed = closeIncident(
    withSeen(opened.record, { limit }),
    incident,
    "handed-to-a-person",
    "ended-by-person",
    now,
  );
  const ended = terminated(closed.record.health, now);
  const { key, actor, force } = order;
  const stop: StopLife = {
    ...{ key, cause: "ordered", actor, force, decidedAt: now, thenRestart: false },
    ...{ saved: null, orderedAt: null, evidence: [], outcome: { kind: "already-over" } },
  };
  const payload = { agentId, from: health.state, to: ended.state, reason: ended.reason, findings: [] };
  return {
    record: {
      ...closed.record,
      health: { ...ended, findings: [] },
      ending: { ...closed.record.ending, stop: wasStopped(record) ? closed.record.ending.stop : stop },
    },
    events: [
      ...opened.events,
      { type: "RESTART_CANCELLED", payload: { agentId, incarnation, actor } },
      ...closed.events,
      ...(ended.state === health.state ? [] : [{ type: "HEALTH_STATE_CHANGED" as const, payload }]),
    ],
    actions: closed.actions,
  };
}

/** The stop is under way already. From here on it is the person's, who also decides what follows. */
function adopt(record: AgentRecord, stop: StopLife, actor: string, thenRestart: boolean): Intervened {
  const { agentId, incarnation } = lifeOf(record);
  const evidence = ["order"];
  const payload = { agentId, incarnation, key: stop.key, actor, because: "ordered" as const, evidence };
  return withEvents(withEnding(record, { stop: { ...stop, cause: "ordered", actor, thenRestart } }), {
    type: "TERMINATION_ORDERED",
    payload,
  });
}

/** The work is saved, or not: the order follows, unless a freeze came or the work must be saved. */
function orderAfterSaving(record: AgentRecord, context: Context): Intervened {
  const { policy, doubt } = context;
  const { stop } = record.ending;
  if (stop === null || stop.cause !== "ordered" || stop.saved === null || stop.orderedAt !== null)
    return unchanged(record);
  if (doubt.frozen) return withdrawStop(record, "frozen");
  const mustSave = !stop.force && !policy.saving.acceptFailure;
  if (stop.saved.kind === "not-saved" && mustSave) return withdrawStop(record, "work-not-saved");
  // An agent that ended by itself meanwhile is still stopped, for what it left behind.
  return orderStop(record, stop, context);
}
