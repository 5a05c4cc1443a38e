import {
  type DurationMs,
  type MonoMs,
  minutes,
  type Policy,
  type RecoveryContext,
  type RestartCause,
  type RouseEvent,
  seconds,
} from "@rouse/contract";
import { limitReached, limitResumed, limitStillStands } from "../accept/read-limit.ts";
import { isIll } from "../assess/health-machine.ts";
import { earliest } from "../assess/look.ts";
import { mayLackCheckpoints } from "../breakers/open-breakers.ts";
import type { Context } from "../context.ts";
import { blindSince, type Doubt } from "../doubt.ts";
import { type Intervened, unchanged, withEvents } from "../intervene/alert-life.ts";
import { endedAtLimit, isStanding } from "../limit.ts";
import { type AgentRecord, isOver, isStartingAgain, lifeOf, withEnding, withLadder } from "../record.ts";
import { beginAttempt, reopenGate } from "../recovery-gate.ts";
import { isBetweenRuns, recentRestarts, restartsAllowed } from "../restart-rule.ts";
import { type Signal, tellRaised } from "../signal.ts";
import type { Limit } from "../terminal-facts.ts";

/** Older attempts than these are of tasks long done. */
const mostRemembered = 20;

/** Orders a start. The holder of the new life tells of it. */
export function revive(record: AgentRecord, by: "restart" | "recovery", attempt: number, context: Context): Intervened {
  const { now } = context;
  const isRestart = by === "restart";
  const because: RestartCause = !isRestart
    ? "recovery"
    : record.seen.terminal?.exit?.cause === "stopped"
      ? "stopped-as-unresponsive"
      : "process-exited";
  const restarts = isRestart ? [...recentRestarts(record, context), now] : record.recovery.restarts;
  const recoveries = isRestart
    ? record.recovery.attempts
    : [...record.recovery.attempts, { taskId: record.task.id, at: now }].slice(-mostRemembered);
  const restartedAt = isRestart ? now : record.recovery.restartedAt;
  const { counted, key } = countStart(record, by);
  const counts = { ...record.recovery, restarts, restartedAt, attempts: recoveries };
  const recovery = beginAttempt(counts, record.life.incarnation, context);
  return start({ ...counted, recovery }, key, because, attempt, now);
}

function start(record: AgentRecord, key: string, because: RestartCause, attempt: number, now: MonoMs): Intervened {
  const { agentId, incarnation } = lifeOf(record);
  const { id: taskId } = record.task;
  const reason = reasonOf(record, because);
  const events: RouseEvent[] = [{ type: "RESTART_ORDERED", payload: { agentId, incarnation, key, because, attempt } }];
  // A finished agent goes on with nothing.
  const isFresh = because === "kept-running";
  const fromCheckpoint = record.task.checkpoint;
  if (!isFresh)
    events.push({ type: "RECOVERY_INITIATED", payload: { taskId, agentId, fromCheckpoint, attempt, because: reason } });
  return {
    record: {
      ...record,
      seen: { ...record.seen, limit: resumed(record.seen.limit, now) },
      ending: {
        ...record.ending,
        restart: {
          ...{ key, because, attempt, awaitedSince: now, problem: null },
          // An end that was a matter already stays one until the next life is there.
          ...(endedAtLimit(record) && record.health.state === "HEALTHY" ? { outOfLimit: true } : {}),
        },
      },
    },
    events,
    actions: [
      {
        ...{ kind: "restart-agent", key, agentId, incarnation, taskId, reason, attempt },
        afterLimit: because === "limit-over",
        ...(isFresh ? { fresh: true as const } : {}),
      },
    ],
  };
}

/** Counts one more start and makes its key. */
function countStart(record: AgentRecord, by: string): { readonly counted: AgentRecord; readonly key: string } {
  const counts = { ...record.ladder.counts, starts: record.ladder.counts.starts + 1 };
  const key = `${record.agentId}/${record.life.incarnation}/${by}/${counts.starts}`;
  return { counted: withLadder(record, { counts }), key };
}

/** A start tries whether the limit is over. */
const resumed = (limit: Limit | null, now: MonoMs): Limit | null =>
  isStanding(limit) ? { ...limit, resumedAt: now } : limit;

/** The limit is over and the agent goes on with its conversation. That is no crash, so no budget is charged. */
export function reviveAfterLimit(record: AgentRecord, limit: Limit, now: MonoMs): Intervened {
  const { counted, key } = countStart(record, "limit");
  return start(counted, key, "limit-over", limit.attempts + 1, now);
}

/** The owner wants the agent to run always and its last run went well. No budget is charged, unless starting fails. */
function reviveAfterRun(record: AgentRecord, context: Context): Intervened {
  const { now } = context;
  const { counted, key } = countStart(record, "always");
  const failed = record.ending.restart !== null;
  const restarts = failed ? [...recentRestarts(record, context), now] : record.recovery.restarts;
  const attempt = failed ? restarts.length + 1 : 1;
  const recovery = { ...record.recovery, restarts, restartedAt: now };
  return start({ ...counted, recovery }, key, "kept-running", attempt, now);
}

/** Why its last life ended, in fixed words. */
function reasonOf(
  { ladder: { incident }, ending: { stop }, seen: { terminal, breakers } }: AgentRecord,
  because: RestartCause,
): string {
  if (because === "ordered") return "a person asked for it";
  if (because === "limit-over") return "its provider's limit is over";
  if (because === "kept-running") return "its owner wants it to run always";
  const exit = terminal?.exit?.cause ?? "gone";
  const what = exit === "stopped" && stop !== null ? `stopped: ${stop.cause}` : exit;
  const unsaved = mayLackCheckpoints(breakers) ? "; its last checkpoints may not be saved" : "";
  return incident === null ? `${what}${unsaved}` : `${incident.illness}: ${incident.cause}, ${what}${unsaved}`;
}

/**
 * A person's order to start the agent. An agent to be stopped first waits for that; beside survivors nothing is
 * started. The person has looked at it, so earlier attempts no longer count.
 */
export function obeyRestart(record: AgentRecord, signal: Signal, { now, doubt }: Context): Intervened {
  if (record.seen.terminal === null || record.seen.terminal.exit === null || doubt.frozen || isStartingAgain(record))
    return unchanged(record);
  const key = orderKey(record, signal);
  if (key === null) return unchanged(record);
  // The order is used up with this, whatever comes of it: it is not tried again with every report.
  const stop = record.ending.stop === null ? null : { ...record.ending.stop, thenRestart: false };
  const recovery = { ...record.recovery, attempts: [], restarts: [], gate: reopenGate(record.recovery.gate, now) };
  return start({ ...withEnding(record, { stop }), recovery }, `${key}/restart`, "ordered", 0, now);
}

/** Each order has its own key, so that a second order counts and a repeated one does not. */
function orderKey({ ending: { stop, restart } }: AgentRecord, signal: Signal): string | null {
  if (signal.kind === "ordered") {
    const isKnown = stop?.key === signal.key || restart?.key === `${signal.key}/restart`;
    return signal.order === "restart" && !isKnown ? signal.key : null;
  }
  if (stop === null || !stop.thenRestart) return null;
  return stop.outcome?.kind === "stopped" || stop.outcome?.kind === "already-over" ? stop.key : null;
}

/** The outcome of a start: it failed, or what the new life was given to go on with. */
export function followRestart(record: AgentRecord, signal: Signal, context: Context): Intervened {
  if (signal.kind !== "action-outcome" || signal.outcome === "delivered") return unchanged(record);
  const { outcome } = signal;
  if (outcome.kind === "restarted") return noteContext(record, outcome.incarnation, outcome.recovery);
  if (record.ending.restart?.key !== signal.key) return unchanged(record);
  if (outcome.kind === "limit-stands") return putOff(record, outcome.resetsInMs, context);
  return outcome.kind === "not-restarted" ? failRestart(record, outcome.problem) : unchanged(record);
}

/** The soonest next look. */
export const aMoment: DurationMs = 250;

/** The order is taken back, which is no failure: the agent waits as if it had met the limit once more. */
function putOff(record: AgentRecord, resetsInMs: DurationMs | null, { now, policy }: Context): Intervened {
  const { agentId } = record;
  const { restart } = record.ending;
  const { limit } = record.seen;
  const { incarnation } = record.life;
  if (restart?.because !== "limit-over" || limit === null || !isStartingAgain(record)) return unchanged(record);
  const stands = limitStillStands(limit, resetsInMs, now, policy);
  const told = limitReached(agentId, stands, resetsInMs);
  const resetsInSeconds = resetsInMs === null ? null : Math.round(resetsInMs / 1000);
  return {
    // After too many attempts a person is needed, so the findings are looked at anew.
    record: {
      ...record,
      seen: { ...record.seen, limit: stands },
      ending: { ...record.ending, restart: null },
      wakeAt: now + aMoment,
    },
    events: [{ type: "RESTART_PUT_OFF", payload: { agentId, incarnation, key: restart.key, resetsInSeconds } }, told],
    actions: [],
  };
}

/** Told once, whoever finds out first. */
function failRestart(record: AgentRecord, problem: string): Intervened {
  const { agentId } = record;
  const { restart } = record.ending;
  const { incarnation } = record.life;
  if (restart === null || restart.problem !== null) return unchanged(record);
  return withEvents(withEnding(record, { restart: { ...restart, problem } }), {
    type: "RESTART_FAILED",
    payload: { agentId, incarnation, problem },
  });
}

/** The outcome may come before or after the new life is known. */
function noteContext(record: AgentRecord, life: number, context: RecoveryContext | null): Intervened {
  if (context === null || life < record.life.incarnation || record.recovery.recovered?.life === life)
    return unchanged(record);
  const told = {
    ...unchanged(record),
    record: { ...record, recovery: { ...record.recovery, recovered: { context, life, told: false } } },
  };
  const { lost, taskId } = context;
  return lost.startsOver && lost.checkpoints > 0 ? tellOfLoss(told, life, taskId, lost.checkpoints) : told;
}

/** All work is lost: a person should look why. */
function tellOfLoss(before: Intervened, life: number, taskId: string | null, checkpoints: number): Intervened {
  const { agentId } = before.record;
  const summary = `${agentId} starts over with task ${taskId}: none of its ${checkpoints} checkpoints can be used`;
  return { record: before.record, ...tellRaised(`${agentId}/${life}/starts-over`, agentId, "critical", summary) };
}

/** The life that we ordered has begun. */
export function noticeRestart(before: AgentRecord, after: AgentRecord, now: MonoMs): RouseEvent[] {
  const asked = isStartingAgain(before) ? before.ending.restart : null;
  const events: RouseEvent[] = [];
  const { agentId } = after;
  const { id: taskId } = after.task;
  if (asked !== null && after.life.incarnation !== before.life.incarnation) {
    const cause = before.seen.terminal?.exit?.cause ?? null;
    const { because } = asked;
    const chain = causeChain(before);
    const payload = { agentId, from: before.life.incarnation, to: after.life.incarnation, because, cause, chain };
    events.push({ type: "AGENT_RESTARTED", payload });
    // Told now and not with the order, which the program may still have put off.
    if (because === "limit-over" && before.seen.limit !== null)
      events.push(limitResumed(agentId, before.seen.limit, "started-again", now));
  }
  const { recovered } = after.recovery;
  const isNews = recovered?.life === after.life.incarnation && !hasBegun(before, recovered.life);
  if (recovered === null || !isNews) return events;
  const { checkpoint, step, lost } = recovered.context;
  const startedAt = after.seen.terminal?.startedAt ?? after.life.bornAt;
  const downFor = Math.max(0, startedAt - (after.life.formerEndAt ?? startedAt));
  const { incarnation } = after.life;
  const tookSeconds = Math.round(downFor / 100) / 10;
  const from = { fromCheckpoint: checkpoint, step, lost, tookSeconds };
  const payload = { taskId, agentId, newAgentId: agentId, incarnation, ...from };
  return [...events, { type: "RECOVERY_COMPLETED", payload }];
}

const hasBegun = (before: AgentRecord, life: number): boolean =>
  before.life.incarnation === life && before.recovery.recovered?.life === life;

/** From the first finding to the new life: what led to what. */
function causeChain({ ladder: { incident }, ending: { stop, restart }, seen: { terminal } }: AgentRecord): string[] {
  const exit = terminal?.exit ?? null;
  return [
    ...(incident === null ? [] : [`${incident.illness}: ${incident.cause}`]),
    ...(stop === null || stop.outcome === null ? [] : [`${stop.outcome.kind}: ${stop.cause}`]),
    ...(exit === null ? [] : [`exit: ${exit.cause}${exit.signal === null ? "" : ` ${exit.signal}`}`]),
    ...(restart === null ? [] : [`started again: ${restart.because}`]),
  ];
}

/**
 * Fifth stage: did it come back? The end of an illness is an event, with how long it took. An agent that ended without
 * finishing, or by a person's hand, did not come back.
 */
export function noticeReturn(before: AgentRecord, after: AgentRecord, now: MonoMs): RouseEvent[] {
  const { state } = after.health;
  if (!isIll(before.health.state) || (state !== "HEALTHY" && state !== "DEGRADED")) return [];
  if (isOver(after) && (after.work.activity.kind !== "FINISHED" || after.seen.terminal?.exit?.cause === "person"))
    return [];
  const illForSeconds = Math.round((now - before.health.since) / 1000);
  return [{ type: "AGENT_RECOVERED", payload: { agentId: after.agentId, from: before.health.state, illForSeconds } }];
}

/** `--restart always`: an agent that ended well is started again, too, after the cooldown. */
export function keepRunning(record: AgentRecord, context: Context): Intervened {
  const { now, doubt } = context;
  const due = nextRunDue(record, context);
  if (due === null || now < due || doubt.frozen) return unchanged(record);
  return reviveAfterRun(record, context);
}

export const mayStart = ({ mode, enabled }: Policy): boolean => mode === "act" && enabled;

/** When the next run begins; `null`: not by itself. Failed starts are tried as often as failing agents. */
export function nextRunDue(record: AgentRecord, context: Context): MonoMs | null {
  const { now, policy } = context;
  if (!isBetweenRuns(record) || isStartingAgain(record)) return null;
  if (!mayStart(policy)) return null;
  const rested = record.recovery.restartedAt === null ? now : record.recovery.restartedAt + policy.restart.cooldown;
  const recent = record.ending.restart === null ? [] : recentRestarts(record, context);
  const [oldest] = recent.slice(-restartsAllowed(record, policy));
  const isSpent = oldest !== undefined && recent.length >= restartsAllowed(record, policy);
  return isSpent ? Math.max(rested, oldest + policy.restart.window) : rested;
}

/**
 * Longer than a start takes on a slow machine: over a minute until the old holder has left and the new one is ready.
 * After it the order is given again, which starts nothing beside a living agent.
 */
const longestBirth: DurationMs = minutes(2);
/** A freeze or a hold between two rarer looks would count as watched time. */
const lookEvery: DurationMs = seconds(10);

/**
 * A start that nothing is heard of ends like a failed one: tried again within the budget, then a person's matter. Only
 * time in which it could have been carried out and heard of counts.
 */
export function awaitNewLife(record: AgentRecord, { now, doubt }: Context): Intervened {
  const { restart } = record.ending;
  if (restart === null || !isStartingAgain(record)) return unchanged(record);
  const awaitedSince = isBound(doubt) ? null : (restart.awaitedSince ?? now);
  if (awaitedSince !== null && now >= dueAfter(awaitedSince, doubt))
    return failRestart(record, `nothing was heard of its new life within ${longestBirth / 1000} s`);
  return awaitedSince === restart.awaitedSince
    ? unchanged(record)
    : { ...unchanged(record), record: withEnding(record, { restart: { ...restart, awaitedSince } }) };
}

/** When to look for the new life. */
export function lookForNewLife(record: AgentRecord, { now, doubt }: Context): MonoMs | null {
  if (record.ending.restart === null || !isStartingAgain(record)) return null;
  const { awaitedSince } = record.ending.restart;
  return awaitedSince === null ? now + longestBirth : earliest(now + lookEvery, dueAfter(awaitedSince, doubt));
}

/** In a freeze nothing is started, and during a hold we may not hear of it. */
const isBound = ({ frozen, hold }: Doubt): boolean => frozen || hold !== null;

/**
 * After a gap the order may have been given anew. Only the first gap near the deadline counts, or a stumbling monitor
 * would never reach it.
 */
function dueAfter(awaitedSince: MonoMs, doubt: Doubt): MonoMs {
  const due = awaitedSince + longestBirth + blindSince(doubt, awaitedSince);
  const near = doubt.gaps.find(({ to }) => to > awaitedSince && to + longestBirth > due);
  return (near === undefined ? due : near.to + longestBirth) + doubt.lag;
}
