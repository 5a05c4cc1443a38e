import type { MonoMs, RouseEvent } from "@rouse/contract";
import { limitResumed } from "../accept/read-limit.ts";
import { tellOfQuestion } from "../accept/sighted.ts";
import { markNow, turnClock } from "../accept/work-clock.ts";
import { newestFact } from "../assess/moved-since.ts";
import type { Context } from "../context.ts";
import { chooseChannel } from "../decide/choose-channel.ts";
import { type Intervened, unchanged, withEvents } from "../intervene/alert-life.ts";
import { limitOverWording } from "../intervene/compose-nudge.ts";
import { queueNudge } from "../intervene/nudge-life.ts";
import {
  endedAtLimit,
  goesOnUntil,
  heldByLimit,
  isOutOfLimit,
  isStanding,
  limitSeenToAt,
  mostResumes,
} from "../limit.ts";
import { type AgentRecord, isOver, withSeen } from "../record.ts";
import type { Limit, TerminalFacts } from "../terminal-facts.ts";
import { aMoment, reviveAfterLimit } from "./restart-life.ts";

/**
 * What follows a limit: an ended agent is started again, one at its prompt is nudged or a person told, else nothing.
 */
export function followLimit(record: AgentRecord, context: Context): Intervened {
  const { now, policy } = context;
  const { limit } = record.seen;
  if (!policy.enabled || limit === null || record.work.activity.kind === "FINISHED") return unchanged(record);
  if (isOver(record)) return now < (heldByLimit(record) ?? now) ? unchanged(record) : startAgain(record, context);
  // A person has the living agent in hand; if its process ends after all, it is started again.
  if (limit.told) return unchanged(record);
  if (isUnheard(record, limit)) return tellPerson(record, limit, context);
  const due = goesOnUntil(record);
  return due === null || now < due ? unchanged(record) : resume(record, limit, context);
}

undefined; /** When a limit that stands is to be looked at. That its agent could not be started again makes its end a matter after all. */
export function limitDue(record: AgentRecord, { now, policy }: Context): MonoMs | null {
  if (!policy.enabled) return null;
  const { health } = record;
  const { restart } = record.ending;
  const failed = isOver(record) && restart !== null && isOutOfLimit(restart) && restart.problem !== null;
  if (failed && health.state === "HEALTHY") return now + aMoment;
  const due = limitSeenToAt(record);
  return due !== null && due > now ? due : null;
}

function startAgain(record: AgentRecord, { now, policy, doubt }: Context): Intervened {
  const { limit } = record.seen;
  // An agent that is being started again has no standing limit.
  if (!isStanding(limit) || !endedAtLimit(record) || doubt.frozen) return unchanged(record);
  if (policy.mode !== "act" || policy.limitResume.afterExit !== "auto") return unchanged(record);
  return reviveAfterLimit(record, limit, now);
}

const andTell = (done: Intervened, event: RouseEvent): Intervened => ({ ...done, events: [event, ...done.events] });

function resume(record: AgentRecord, limit: Limit, context: Context): Intervened {
  const { now, policy, doubt } = context;
  const { inTerminal } = policy.limitResume;
  if (!standsStill(record, limit) || inTerminal === "off")
    return andTell(over(record, limit, context), limitResumed(record.agentId, limit, "time-up", now));
  const mayNudge = inTerminal === "auto" && policy.mode !== "observe" && limit.attempts < mostResumes;
  const channel = mayNudge ? chooseChannel(record) : null;
  if (channel === null) return tellPerson(record, limit, context);
  if (doubt.frozen) return unchanged(record);
  const order = { channel, attempt: 0, cause: null, actor: "rouse", wording: limitOverWording() };
  const resumed = over(record, limit, context).record;
  return andTell(queueNudge(resumed, order, context), limitResumed(record.agentId, limit, "nudged", now));
}

/** A question that stood during the limit still stands; the time until the completion marker counts from here. */
function over(record: AgentRecord, limit: Limit, context: Context): Intervened {
  const { now } = context;
  const { terminal } = record.seen;
  const next: AgentRecord = withSeen(record, { limit: { ...limit, resumedAt: now } });
  if (terminal === null || terminal.asks === null || terminal.wait !== "provider") return unchanged(next);
  const { what, since } = terminal.asks;
  const ended = terminal.turnEndedAt === null ? null : markNow(record.work.clock, now);
  const asking: TerminalFacts = { ...terminal, asks: { what, since }, wait: "input", turnEndedAt: ended };
  return {
    ...unchanged(waitForPerson(next, asking, since, context)),
    events: tellOfQuestion(record.agentId, terminal.asks),
  };
}

/**
 * The turn is over or the agent is at its prompt; a used-up quota ends the turn, too. A rate limit is retried by the
 * program.
 */
function standsStill({ seen: { terminal } }: AgentRecord, { what }: Limit): boolean {
  const asks = terminal?.asks?.what;
  return asks === "prompt" || asks === "draft" || (terminal?.turnEndedAt ?? null) !== null || what === "usage";
}

/** The nudge to go on did not reach the agent. One that writes after it goes on, for whatever reason. */
function isUnheard(record: AgentRecord, { since }: Limit): boolean {
  const { nudge } = record.ladder;
  if (nudge?.template !== "limit-over" || nudge.queuedAt < since) return false;
  return nudge.state === "not-sent" || (nudge.state === "unconfirmed" && newestFact(record) <= nudge.queuedAt);
}

/** From here on the agent waits for a person, like one that asks. */
function tellPerson(record: AgentRecord, limit: Limit, context: Context): Intervened {
  const { now } = context;
  const { agentId } = record;
  const { terminal } = record.seen;
  if (terminal === null) return unchanged(record);
  // The agent stands at its prompt, however often its screen is drawn anew.
  const what = terminal.asks?.what ?? "limit";
  const asking: TerminalFacts = { ...terminal, asks: { what, since: now }, wait: "input", turnEndedAt: null };
  const told = withSeen(record, { limit: { ...limit, told: true } });
  return withEvents(waitForPerson(told, asking, now, context), {
    type: "AGENT_NEEDS_YOU",
    payload: { agentId, what: "limit", pattern: limit.pattern },
  });
}

function waitForPerson(record: AgentRecord, terminal: TerminalFacts, since: MonoMs, context: Context): AgentRecord {
  const { now } = context;
  const activity = { kind: "WAITING", since, for: "input", until: null } as const;
  const clock = turnClock(record.work.clock, activity, record.life.bornAt, context);
  // The agent no longer waits for its provider; the rest is looked at in a moment.
  const findings = record.health.findings.filter(({ kind }) => kind !== "rate-limited");
  return {
    ...record,
    work: { ...record.work, activity, clock },
    seen: { ...record.seen, terminal },
    health: { ...record.health, findings },
    wakeAt: now + aMoment,
  };
}
