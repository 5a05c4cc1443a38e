import type { DurationMs, FindingKind, Illness, MonoMs, Policy } from "@rouse/contract";
import { whenWorked } from "../accept/work-clock.ts";
import { gravest } from "../assess/health-machine.ts";
import { earliest, gravity } from "../assess/look.ts";
import { newestFact } from "../assess/moved-since.ts";
import type { Context } from "../context.ts";
import { type Escalation, type HandedOver, type Incident, isSettled, type Stage } from "../incident.ts";
import { endedAtLimit, heldByLimit } from "../limit.ts";
import { type AgentRecord, isOver } from "../record.ts";
import {
  asFinding,
  ask,
  awaitAnswer,
  awaitThaw,
  causeOf,
  causeToStop,
  isQuestion,
  unanswered,
} from "./ask-orchestrator.ts";
import { chooseChannel } from "./choose-channel.ts";
import { isMatterOfFleet } from "./choose-response.ts";
import { chooseWayBack, isAskedWhileDown } from "./choose-way-back.ts";
import { isEnough, isRuledByOwner, kindsOfEvidence } from "./evidence.ts";
import { passGate } from "./kill-gate.ts";
import { handOver, type Rung, recovered, wait } from "./rung.ts";

/**
 * Third stage: should we act, and how? One incident and one rung at a time; after each rung it is asked again. Nothing
 * is done by being decided: the next stage saves it first.
 */
export function chooseRung(record: AgentRecord, context: Context): Rung {
  const { now } = context;
  const rung = chooseNext(record, context);
  if (isDecided(record)) return rung;
  const until = heldByLimit(record);
  if (until !== null && now < until && ownSteps.has(rung.kind)) return wait(until);
  const ends = endsBy(record);
  return ends !== null && now < ends && ownStops.has(rung.kind) ? wait(ends) : rung;
}

/** Our own steps wait for a limit and for an agent that says it is done. What somebody decided does not wait. */
function isDecided({ ladder: { incident } }: AgentRecord): boolean {
  const stage = incident?.stage ?? null;
  return (stage?.kind === "stopping" && stage.cause === "decided") || (stage?.kind === "down" && stage.pressed);
}

/** When an agent that says it is done, and has written nothing since, is believed. */
function endsBy({ seen: { terminal } }: AgentRecord): MonoMs | null {
  if (terminal === null || terminal.finishesAt === null || terminal.completedAt === null) return null;
  return terminal.output.at <= terminal.completedAt ? terminal.finishesAt : null;
}

const ownStops: ReadonlySet<Rung["kind"]> = new Set<Rung["kind"]>(["stop", "save-work", "order-stop"]);

const ownSteps: ReadonlySet<Rung["kind"]> = new Set<Rung["kind"]>([
  "open",
  "turn",
  "nudge",
  "escalate",
  "ask-again",
  "stop",
  "save-work",
  "order-stop",
  "revive",
  "give-up",
]);

function chooseNext(record: AgentRecord, context: Context): Rung {
  const { now, policy, doubt } = context;
  const { incident } = record.ladder;
  if (incident === null) return chooseOpening(record, context);
  if (record.life.incarnation !== incident.incarnation) return welcome(incident.stage);
  const { stage } = incident;
  // An agent that was told to let go of its task and ends has not done that task.
  const handsOff = stage.kind === "stopping" && stage.next === "hand-off";
  if (record.work.activity.kind === "FINISHED") {
    if (!handsOff && record.seen.terminal?.exit?.cause === "person") return handOver("ended-by-person");
    return recovered(handsOff ? "handed-off" : "finished");
  }
  const question = stage.kind === "escalated" && isQuestion(stage.escalation) ? stage.escalation : null;
  // In observe mode the owner has it in hand.
  if (policy.mode === "observe" && question === null) return handOver("mode");
  // An end at a limit is no relapse, and makes earlier questions about the agent moot.
  const isMoot = stage.kind !== "escalated" || !isAskedWhileDown(stage.escalation, record);
  if (endedAtLimit(record) && isMoot && beforeTheEnd.has(stage.kind) && illnessOf(record, context) === null)
    return recovered("well-again");
  if (isOver(record)) {
    const way = chooseWayBack(record, incident, context);
    return callsSomebody(way) && isGathering(record) ? wait() : way;
  }
  if (stage.kind === "probation") return watchReplacement(record, stage.until, context);
  const illness = illnessOf(record, context);
  const turned = illness === null ? null : ({ kind: "turn", illness, cause: causeOf(record) } as const);
  if (stage.kind === "stopping") {
    const isSpared = turned !== null && stopsForAnother(record, incident, stage, turned.illness);
    return isSpared ? turned : passGate(record, incident, stage, context);
  }
  const isWorse = turned !== null && gravityOf[turned.illness] > gravityOf[incident.illness];
  // A question is waited for: only the agent's return, its end or an answer takes it back, not that it became worse.
  if (stage.kind === "escalated" && (question !== null || illness !== null)) {
    const waiting = doubt.frozen ? awaitThaw(stage.escalation, context) : awaitAnswer(stage.escalation, context);
    if (waiting !== null) return waiting;
  }
  if (isWorse) return turned;
  if (question !== null) return afterEscalation(record, incident, question, context);
  if (illness === null) return recovered("well-again");
  if (doubt.frozen) return chooseInFreeze(record, incident, context);
  switch (stage.kind) {
    case "open":
    case "down":
      return chooseFirst(record, incident, context);
    case "nudged":
      return afterNudge(record, incident, context);
    case "escalated":
      return afterEscalation(record, incident, stage.escalation, context);
    case "more-time":
      return now < stage.until ? wait(stage.until) : ask(record, incident, "more-time-used-up", context);
  }
}

/** Whether others ended with it is not known yet; the detector says when to look again. */
const isGathering = ({ health: { findings } }: AgentRecord): boolean =>
  findings.some(({ restrainedBy }) => restrainedBy === "gathering");

const callsSomebody = (rung: Rung): boolean =>
  rung.kind === "escalate" ||
  rung.kind === "give-up" ||
  (rung.kind === "close" && rung.ending === "handed-to-a-person" && !isSettled(rung));

const beforeTheEnd: ReadonlySet<Stage["kind"]> = new Set<Stage["kind"]>([
  "open",
  "nudged",
  "escalated",
  "more-time",
  "probation",
]);

/**
 * The agent no longer suffers from what it is to be stopped for, and no order is out. Its present illness has its own
 * ladder.
 */
const stopsForAnother = (
  { ending: { stop } }: AgentRecord,
  incident: Incident,
  { cause }: Extract<Stage, { kind: "stopping" }>,
  illness: Illness,
): boolean =>
  stop === null && cause !== "decided" && illness !== "DEGRADED" && gravityOf[illness] < gravityOf[incident.illness];

const gravityOf: Readonly<Record<Illness, number>> = { DEGRADED: 0, STUCK: 1, FAILING: 2, UNRESPONSIVE: 3 };

function chooseOpening(record: AgentRecord, context: Context): Rung {
  const { now, policy, doubt } = context;
  const illness = illnessOf(record, context);
  const { handedOver } = record.ladder;
  if (handedOver !== null) return isBack(record, handedOver, illness) ? { kind: "take-back" } : wait();
  if (policy.mode === "observe" || !policy.enabled) return wait();
  // A verdict from before may stand until its holder has reported anew; an agent that has finished is ill no more.
  if (record.work.activity.kind === "FINISHED") return wait();
  if (illness === null) return wait(unchangedAt(record, now, policy));
  // The owner's rule needs nobody's answer.
  if (isMatterOfFleet(record, doubt) && stopByRule(record, policy) === null) return wait();
  return { kind: "open", illness, cause: causeOf(record) };
}

/**
 * A hand-over ends when the agent is better than then, for a warning also when it is worse. A mere question ends when
 * the agent goes on or falls ill.
 */
function isBack(
  record: AgentRecord,
  { illness: was, at, asked, because }: HandedOver,
  illness: Illness | null,
): boolean {
  const { state } = record.health;
  const isIllNow = illness !== null && illness !== "DEGRADED";
  if (state === "TERMINATED") return false;
  if (asked) {
    const hasAnswered = record.work.activity.kind === "FINISHED" && because !== "handed-off";
    // An ended process asks nothing any more.
    const hasEnded = isOver(record) && because !== "handed-off";
    return isIllNow || hasAnswered || hasEnded || newestFact(record) > at;
  }
  // A person called for a warning was not called for what came of it.
  return was === "DEGRADED" ? state === "HEALTHY" || isIllNow : !isIllNow;
}

/** What an agent is ill with; a warning counts once it has stood for long. */
export function illnessOf(record: AgentRecord, { now, policy }: Context): Illness | null {
  const { state } = record.health;
  if (state === "UNRESPONSIVE" || state === "STUCK" || state === "FAILING") return state;
  const at = unchangedAt(record, null, policy);
  return at !== null && at <= now ? "DEGRADED" : null;
}

/** Nobody is called for warnings of a lower confidence. */
const worthACall = 0.5;

/** A finding that was a note before counts from when health was DEGRADED. */
function unchangedAt(
  { health, health: { findings } }: AgentRecord,
  after: MonoMs | null,
  policy: Policy,
): MonoMs | null {
  if (health.state !== "DEGRADED") return null;
  let at: MonoMs | null = null;
  for (const { level, confidence, since, restrainedBy } of findings) {
    if (level === "degraded" && confidence >= worthACall && restrainedBy === undefined)
      at = earliest(at, Math.max(since, health.since) + policy.escalation.unchangedAfter);
  }
  return at !== null && after !== null && at <= after ? null : at;
}

/** A new life ends the incident, except after a recovery: then it is watched. */
function welcome(stage: Stage): Rung {
  if (stage.kind !== "down") return recovered("new-life");
  return stage.by === "recovery" ? { kind: "watch-closely" } : recovered("replaced");
}

/** After a relapse a person is needed: starting over did not help. The owner's rule holds for every life. */
function watchReplacement(record: AgentRecord, until: MonoMs, context: Context): Rung {
  const { now, policy } = context;
  const illness = illnessOf(record, context);
  if (illness !== null && illness !== "DEGRADED") return stopByRule(record, policy) ?? handOver("relapse");
  return now < until ? wait(until) : recovered("stood-probation");
}

function chooseFirst(record: AgentRecord, incident: Incident, context: Context): Rung {
  const { policy } = context;
  switch (incident.illness) {
    case "DEGRADED":
      return ask(record, incident, "unchanged-finding", context);
    case "STUCK":
      return (
        stopByRule(record, policy) ?? endOvertime(record, incident, context) ?? chooseNudge(record, incident, context)
      );
    case "FAILING":
    case "UNRESPONSIVE":
      return record.seen.terminal === null
        ? ask(record, incident, "not-supervised", context)
        : stop(record, incident, policy);
  }
}

/** The owner's rule says in advance what to do. */
function stopByRule(record: AgentRecord, policy: Policy): Rung | null {
  const ruled = record.health.findings.find((finding) => isRuledByOwner(record, finding, policy));
  return ruled === undefined || record.seen.terminal === null ? null : { kind: "stop", cause: ruled.kind };
}

/**
 * The agent was told to stop and works on, so it is not reminded of its work. If it has not shown that it read that,
 * somebody is asked.
 */
function endOvertime(record: AgentRecord, incident: Incident, context: Context): Rung | null {
  if (record.health.findings.every(({ kind }) => kind !== "task-timed-out")) return null;
  if (record.seen.terminal !== null && isEnough(kindsOfEvidence(record, context)))
    return { kind: "stop", cause: "task-timed-out" };
  return ask(record, incident, "one-kind-of-evidence", context);
}

/** Nothing is done in a freeze, but an agent due to be stopped comes to the gate, which tells why it is shut. */
function chooseInFreeze(record: AgentRecord, incident: Incident, context: Context): Rung {
  const { stage } = incident;
  if (stage.kind === "escalated") return awaitThaw(stage.escalation, context);
  const first = stage.kind === "open" ? chooseFirst(record, incident, context) : null;
  return first?.kind === "stop" ? first : wait();
}

const stop = (record: AgentRecord, incident: Incident, policy: Policy): Rung => ({
  kind: "stop",
  cause: causeToStop(record, incident, policy) ?? "no-progress",
});

/** An undelivered nudge is no attempt, but is not tried without end either. */
function chooseNudge(record: AgentRecord, incident: Incident, context: Context): Rung {
  const { policy } = context;
  const { nudges, undelivered, stage } = incident;
  const channel = policy.nudge.enabled ? chooseChannel(record) : null;
  if (channel === null) return ask(record, incident, "no-way-to-nudge", context);
  if (nudges < policy.nudge.max && undelivered < policy.nudge.max)
    return { kind: "nudge", channel, attempt: nudges + 1, cause: nudgedFor(record) };
  if (stage.kind === "open" && nudges >= policy.nudge.max) return ask(record, incident, "falls-back", context);
  // Nudges of an earlier incident count for the number of nudges, not as unanswered now.
  const wasNudged = record.ladder.nudged.some(({ at }) => at >= incident.openedAt);
  return ask(record, incident, wasNudged ? "nudges-unanswered" : "nudges-undelivered", context);
}

/** The finding to nudge for; the incident's cause when nothing was found since the last nudge. */
export function nudgedFor({ health: { findings }, ladder: { incident } }: AgentRecord): FindingKind | null {
  const found = gravest(findings.filter(({ level }) => gravity[level] >= gravity.stuck));
  return found?.kind ?? (incident === null ? null : asFinding(incident.cause));
}

/**
 * The next rung needs new evidence: a new finding since the nudge, or no work at all for one interval. An agent that
 * does a little, and nothing new, is asked about in the end. An owner's rule that comes to apply does not wait.
 */
function afterNudge(record: AgentRecord, incident: Incident, context: Context): Rung {
  const { now, policy } = context;
  const ruled = stopByRule(record, policy);
  if (ruled !== null) return ruled;
  const overtime = endOvertime(record, incident, context);
  if (overtime !== null) return overtime;
  const { nudge } = record.ladder;
  const { findings } = record.health;
  const { interval, max } = policy.nudge;
  const from = (nudge?.sent?.at ?? nudge?.queuedAt ?? now) + (nudge?.unseen ?? 0);
  if (now < from + interval) return wait(from + interval);
  const quietAt = quietSinceNudge(record, interval);
  const isFound = findings.some(({ level }) => gravity[level] >= gravity.stuck);
  if (isFound || (quietAt !== null && quietAt <= now)) return chooseNudge(record, incident, context);
  const last = from + (max + 1) * interval;
  return now < last ? wait(earliest(quietAt, last) ?? last) : ask(record, incident, "nudges-unanswered", context);
}

/**
 * When the agent will have done nothing for `interval` since its nudge; `null` while its clock stands still, or without
 * one.
 */
function quietSinceNudge(
  { work, seen: { facts, terminal }, ladder: { nudge, reached } }: AgentRecord,
  interval: DurationMs,
): MonoMs | null {
  const sent = reached?.sent ?? nudge?.sent ?? null;
  if (sent === null) return null;
  const marks = [sent, facts.progress, facts.checkpoint, terminal?.output ?? null];
  return whenWorked(work.clock, Math.max(...marks.map((mark) => mark?.worked ?? 0)) + interval);
}

function afterEscalation(record: AgentRecord, incident: Incident, escalation: Escalation, context: Context): Rung {
  const { policy } = context;
  const { otherwise } = escalation;
  const waiting = awaitAnswer(escalation, context);
  if (waiting !== null) return waiting;
  switch (otherwise.kind) {
    case "hand-over":
      return handOver(otherwise.because);
    // What was announced with this question is kept; the next question says what follows then.
    case "keep":
      return { kind: "ask-again", otherwise: unanswered(record, incident, context) };
    case "stop":
      return record.seen.terminal === null ? handOver("not-supervised") : stop(record, incident, policy);
  }
}
