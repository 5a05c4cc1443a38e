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
import { limitReached, limitResumed, standsAgain } from "../accept/read-limit.ts";
import { isIll } from "../assess/health-machine.ts";
import { earliest } from "../assess/look.ts";
import type { Context } from "../context.ts";
import { blindSince, type Doubt } from "../doubt.ts";
import { type Intervened, unchanged } from "../intervene/alert-life.ts";
import { endedAtLimit, isStanding } from "../limit.ts";
import { type AgentRecord, isOver, isStartingAgain, withEnding, withLadder } from "../record.ts";
import { isBetweenRuns, recentRestarts, restartsAllowed } from "../restart-rule.ts";
import { type Signal, tellRaised } from "../signal.ts";
import type { Limit } from "../terminal-facts.ts";

/** Attempts older than any window, of tasks long done, need not be remembered. */
const mostRemembered = 20;

/** An order to start it again: decided and saved, done by the hands; the new life itself is told by its holder. */
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
  const recovery = { ...record.recovery, restarts, restartedAt, attempts: recoveries };
  return start({ ...counted, recovery }, key, because, attempt, now);
}

function start(record: AgentRecord, key: string, because: RestartCause, attempt: number, now: MonoMs): Intervened {
  const { agentId } = record;
  const { incarnation } = record.life;
  const { id: taskId } = record.task;
  const reason = reasonOf(record, because);
  const events: RouseEvent[] = [{ type: "RESTART_ORDERED", payload: { agentId, incarnation, key, because, attempt } }];
  // Who has finished goes on with nothing.
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
          // Where its end has become a matter by then, it is one until its next life is there.
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

/** Counts one more start, and names it. */
function countStart(record: AgentRecord, by: string): { readonly counted: AgentRecord; readonly key: string } {
  const counts = { ...record.ladder.counts, starts: record.ladder.counts.starts + 1 };
  const key = `${record.agentId}/${record.life.incarnation}/${by}/${counts.starts}`;
  return { counted: withLadder(record, { counts }), key };
}

/** Whoever is started again tries whether its limit is over. */
const resumed = (limit: Limit | null, now: MonoMs): Limit | null =>
  isStanding(limit) ? { ...limit, resumedAt: now } : limit;

/** Its limit is over: it goes on with its conversation. That is no crash, so no budget of crashes is charged. */
export function reviveAfterLimit(record: AgentRecord, limit: Limit, now: MonoMs): Intervened {
  const { counted, key } = countStart(record, "limit");
  return start(counted, key, "limit-over", limit.attempts + 1, now);
}

/** Its owner wants it to run always, and its last run went well. No budget of failures is charged, unless starting it is what fails. */
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
  { ladder: { incident }, ending: { stop }, seen: { terminal } }: AgentRecord,
  because: RestartCause,
): string {
  if (because === "ordered") return "a person asked for it";
  if (because === "limit-over") return "its provider's limit is over";
  if (because === "kept-running") return "its owner wants it to run always";
  const exit = terminal?.exit?.cause ?? "gone";
  const what = exit === "stopped" && stop !== null ? `stopped: ${stop.cause}` : exit;
  return incident === null ? what : `${incident.illness}: ${incident.cause}, ${what}`;
}

/**
 * A person's order to start it again. One that was to be stopped first waits for the answer; beside survivors nothing is started. Whoever says so has
 * looked at it, so the attempts before no longer count.
 */
export function obeyRestart(record: AgentRecord, signal: Signal, { now, doubt }: Context): Intervened {
  if (record.seen.terminal === null || record.seen.terminal.exit === null || doubt.frozen || isStartingAgain(record))
    return unchanged(record);
  const key = orderKey(record, signal);
  if (key === null) return unchanged(record);
  // Their order is used up with this: whatever comes of it, it is not tried again with every report.
  const stop = record.ending.stop === null ? null : { ...record.ending.stop, thenRestart: false };
  const recovery = { ...record.recovery, attempts: [], restarts: [] };
  return start({ ...withEnding(record, { stop }), recovery }, `${key}/restart`, "ordered", 0, now);
}

/** Each order has a key of its own, so that a second one after a failure is not taken for the first, and the first that comes again is. */
function orderKey({ ending: { stop, restart } }: AgentRecord, signal: Signal): string | null {
  if (signal.kind === "ordered") {
    const isKnown = stop?.key === signal.key || restart?.key === `${signal.key}/restart`;
    return signal.order === "restart" && !isKnown ? signal.key : null;
  }
  if (stop === null || !stop.thenRestart) return null;
  return stop.outcome?.kind === "stopped" || stop.outcome?.kind === "already-over" ? stop.key : null;
}

/** What the hands say of it: it could not be started, or what the new life was given to go on with. */
export function followRestart(record: AgentRecord, signal: Signal, context: Context): Intervened {
  if (signal.kind !== "action-outcome" || signal.outcome === "delivered") return unchanged(record);
  const { outcome } = signal;
  if (outcome.kind === "restarted") return noteContext(record, outcome.incarnation, outcome.recovery);
  if (record.ending.restart?.key !== signal.key) return unchanged(record);
  if (outcome.kind === "limit-stands") return putOff(record, outcome.resetsInMs, context);
  return outcome.kind === "not-restarted" ? failRestart(record, outcome.problem) : unchanged(record);
}

/** As soon as anybody may look again. */
export const aMoment: DurationMs = 250;

/** The order is taken back, which is no failure: its agent waits on, as if it had run into the limit once more. */
function putOff(record: AgentRecord, resetsInMs: DurationMs | null, { now, policy }: Context): Intervened {
  const { agentId } = record;
  const { restart } = record.ending;
  const { limit } = record.seen;
  const { incarnation } = record.life;
  if (restart?.because !== "limit-over" || limit === null || !isStartingAgain(record)) return unchanged(record);
  const stands = standsAgain(limit, resetsInMs, now, policy);
  const told = limitReached(agentId, stands, resetsInMs);
  const resetsInSeconds = resetsInMs === null ? null : Math.round(resetsInMs / 1000);
  return {
    // Once too often, and it is a person's matter: what is found about it is looked at anew.
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
  return {
    record: withEnding(record, { restart: { ...restart, problem } }),
    events: [{ type: "RESTART_FAILED", payload: { agentId, incarnation, problem } }],
    actions: [],
  };
}

/** The answer may come before the new life is known, or after. */
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

/** All of its work is lost: somebody should look why. */
function tellOfLoss(before: Intervened, life: number, taskId: string | null, checkpoints: number): Intervened {
  const { agentId } = before.record;
  const summary = `${agentId} starts over with task ${taskId}: none of its ${checkpoints} checkpoints can be used`;
  return { record: before.record, ...tellRaised(`${agentId}/${life}/starts-over`, agentId, "critical", summary) };
}

/** The next life has begun, and we asked for it. */
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
    // Not when it was ordered: its program may still put it off.
    if (because === "limit-over" && before.seen.limit !== null)
      events.push(limitResumed(agentId, before.seen.limit, "started-again", now));
  }
  const { recovered } = after.recovery;
  const isNews = recovered?.life === after.life.incarnation && !hasBegun(before, recovered.life);
  if (recovered === null || !isNews) return events;
  const { checkpoint, step, lost } = recovered.context;
  const startedAt = after.seen.terminal?.startedAt ?? after.life.bornAt;
  const downFor = Math.max(0, startedAt - (after.life.formerEndAt ?? startedAt));
  events.push({
    type: "RECOVERY_COMPLETED",
    payload: {
      taskId,
      agentId,
      newAgentId: agentId,
      incarnation: after.life.incarnation,
      fromCheckpoint: checkpoint,
      step,
      lost,
      tookSeconds: Math.round(downFor / 100) / 10,
    },
  });
  return events;
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

/** Fifth stage: did it come back? An agent that was ill and is not any more is a fact of its own, with how long it took. Who ended without having finished, or by a person's hand, did not. */
export function noticeReturn(before: AgentRecord, after: AgentRecord, now: MonoMs): RouseEvent[] {
  const { state } = after.health;
  if (!isIll(before.health.state) || (state !== "HEALTHY" && state !== "DEGRADED")) return [];
  if (isOver(after) && (after.work.activity.kind !== "FINISHED" || after.seen.terminal?.exit?.cause === "person"))
    return [];
  const illForSeconds = Math.round((now - before.health.since) / 1000);
  return [{ type: "AGENT_RECOVERED", payload: { agentId: after.agentId, from: before.health.state, illForSeconds } }];
}

/** `--restart always`: whoever ended well is started again as well, no sooner than the cooldown allows. */
export function keepRunning(record: AgentRecord, context: Context): Intervened {
  const { now, doubt } = context;
  const due = nextRunDue(record, context);
  if (due === null || now < due || doubt.frozen) return unchanged(record);
  return reviveAfterRun(record, context);
}

export const mayStart = ({ mode, enabled }: Policy): boolean => mode === "act" && enabled;

/** When its next run begins; `null`: not by itself. One that could not be started is tried as often as one that fails. */
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
 * More than a start may take on a slow machine: a minute and some seconds until the old holder has left and the new one is ready, a second until it is
 * found. After it the order is given again, which starts nothing beside a life that is there after all.
 */
const longestBirth: DurationMs = minutes(2);
/** A freeze or a hold that came and went between two looks would count as time we watched. */
const lookEvery: DurationMs = seconds(10);

/**
 * An order of which nothing is heard ends like one that failed: tried again within the budget, then a person's matter. Only time in which it could
 * have been carried out and heard of counts.
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

/** When to look whether it has come. */
export function lookForNewLife(record: AgentRecord, { now, doubt }: Context): MonoMs | null {
  if (record.ending.restart === null || !isStartingAgain(record)) return null;
  const { awaitedSince } = record.ending.restart;
  return awaitedSince === null ? now + longestBirth : earliest(now + lookEvery, dueAfter(awaitedSince, doubt));
}

/** In a freeze nothing is started, and while we doubt our own path we may not hear of it. */
const isBound = ({ frozen, hold }: Doubt): boolean => frozen || hold !== null;

/** After a gap the order may have been given anew. The first one near its end counts, or a monitor that stumbles again and again would never come to it. */
function dueAfter(awaitedSince: MonoMs, doubt: Doubt): MonoMs {
  const due = awaitedSince + longestBirth + blindSince(doubt, awaitedSince);
  const near = doubt.gaps.find(({ to }) => to > awaitedSince && to + longestBirth > due);
  return (near === undefined ? due : near.to + longestBirth) + doubt.lag;
}
