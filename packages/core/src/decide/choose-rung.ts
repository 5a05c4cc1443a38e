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
import { chooseWayBack, isAboutTheDead } from "./choose-way-back.ts";
import { isEnough, isRuledByOwner, kindsOfEvidence } from "./evidence.ts";
import { passGate } from "./kill-gate.ts";
import { handOver, type Rung, recovered, wait } from "./rung.ts";

/**
 * Third stage: should we act, and how? One incident at a time, one rung at a time; whatever the rung changes is looked at again. Nothing here is done
 * by being decided: the next stage writes it down first.
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

/** Whatever we would do of ourselves waits until a limit is over, and for who says that it is done; what somebody decided is done. */
function isDecided({ ladder: { incident } }: AgentRecord): boolean {
  const stage = incident?.stage ?? null;
  return (stage?.kind === "stopping" && stage.cause === "decided") || (stage?.kind === "down" && stage.pressed);
}

/** It says that it is done, has written nothing since, and is believed by then. */
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
  // Who was told to let go of its task and ends has not done it by that.
  const handsOff = stage.kind === "stopping" && stage.next === "hand-off";
  if (record.work.activity.kind === "FINISHED") {
    if (!handsOff && record.seen.terminal?.exit?.cause === "person") return handOver("ended-by-person");
    return recovered(handsOff ? "handed-off" : "finished");
  }
  const question = stage.kind === "escalated" && isQuestion(stage.escalation) ? stage.escalation : null;
  // Whoever switched to watching only has it in their own hands.
  if (policy.mode === "observe" && question === null) return handOver("mode");
  // Its end is its limit's matter: no relapse, and what was asked about it before is nobody's any more.
  const isMoot = stage.kind !== "escalated" || !isAboutTheDead(stage.escalation, record);
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
  // What was asked is waited for: only the agent's return, its end or somebody's word takes a question back, not that it became worse.
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

/** Whether others ended with it is not known yet: the detector says when to look again. */
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

/** It is to be stopped for what it no longer suffers from, and nobody has begun to. What it does suffer from has a ladder of its own. */
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
  if (illness === null) return wait(unchangedAt(record, now, policy));
  // What its owner said in advance needs nobody's answer.
  if (isMatterOfFleet(record, doubt) && stopByRule(record, policy) === null) return wait();
  return { kind: "open", illness, cause: causeOf(record) };
}

/** A matter in other hands is over when the agent is better than it was then, and a warning also when it is worse; a mere question, when it goes on with its work or falls ill. */
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
    // Whose process is over asks nothing any more.
    const hasEnded = isOver(record) && because !== "handed-off";
    return isIllNow || hasAnswered || hasEnded || newestFact(record) > at;
  }
  // Whoever was called for a warning was not called for what came of it: an end, for one.
  return was === "DEGRADED" ? state === "HEALTHY" || isIllNow : !isIllNow;
}

/** What an agent is ill with; a warning counts once it stood for long and nothing came of it. */
export function illnessOf(record: AgentRecord, { now, policy }: Context): Illness | null {
  const { state } = record.health;
  if (state === "UNRESPONSIVE" || state === "STUCK" || state === "FAILING") return state;
  const at = unchangedAt(record, null, policy);
  return at !== null && at <= now ? "DEGRADED" : null;
}

/** Warnings below this are shown to whoever looks, and nobody is called for them. */
const worthACall = 0.5;

/** What was worth a note before it was a warning counts from then on. */
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

/** A new life. One that we asked for after a recovery is watched; every other ends the matter. */
function welcome(stage: Stage): Rung {
  if (stage.kind !== "down") return recovered("new-life");
  return stage.by === "recovery" ? { kind: "watch-closely" } : recovered("replaced");
}

/** A relapse is a person's matter: whatever was wrong, starting over did not cure it. Its owner's rule holds for every life of it. */
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

/** Its owner said in advance what is to be done. */
function stopByRule(record: AgentRecord, policy: Policy): Rung | null {
  const ruled = record.health.findings.find((finding) => isRuledByOwner(record, finding, policy));
  return ruled === undefined || record.seen.terminal === null ? null : { kind: "stop", cause: ruled.kind };
}

/** It was told to stop and works on: to remind it of its work would contradict that. Where it has not shown that it read it, somebody is asked. */
function endOvertime(record: AgentRecord, incident: Incident, context: Context): Rung | null {
  if (record.health.findings.every(({ kind }) => kind !== "task-timed-out")) return null;
  if (record.seen.terminal !== null && isEnough(kindsOfEvidence(record, context)))
    return { kind: "stop", cause: "task-timed-out" };
  return ask(record, incident, "one-kind-of-evidence", context);
}

/** Nothing is done; but whom it would be time to stop comes to the gate, which says why it is shut. */
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

/** What could not be given to it is no attempt, and is not tried without end either. */
function chooseNudge(record: AgentRecord, incident: Incident, context: Context): Rung {
  const { policy } = context;
  const { nudges, undelivered, stage } = incident;
  const channel = policy.nudge.enabled ? chooseChannel(record) : null;
  if (channel === null) return ask(record, incident, "no-way-to-nudge", context);
  if (nudges < policy.nudge.max && undelivered < policy.nudge.max)
    return { kind: "nudge", channel, attempt: nudges + 1, cause: nudgedFor(record) };
  if (stage.kind === "open" && nudges >= policy.nudge.max) return ask(record, incident, "falls-back", context);
  // Those of an incident before this one count for how often it is nudged, not for what it did not answer now.
  const wasNudged = record.ladder.nudged.some(({ at }) => at >= incident.openedAt);
  return ask(record, incident, wasNudged ? "nudges-unanswered" : "nudges-undelivered", context);
}

/** What it goes round in, or what it did when nothing has been found since it was last told. */
export function nudgedFor({ health: { findings }, ladder: { incident } }: AgentRecord): FindingKind | null {
  const found = gravest(findings.filter(({ level }) => gravity[level] >= gravity.stuck));
  return found?.kind ?? (incident === null ? null : asFinding(incident.cause));
}

/**
 * The next rung needs new evidence: something was found since the window was cleared, or nothing at all was done for as long as lies between two nudges,
 * before our eyes. Who does a little, and nothing new, is asked about in the end. An owner's rule that comes to apply meanwhile does not wait for the
 * nudges that something else was worth.
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

/** When it will have done nothing for so long since it was told; `null` while its clock stands still, and where nobody told it. */
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
    // What follows next time is said with the next question: what was announced with this one is kept.
    case "keep":
      return { kind: "ask-again", otherwise: unanswered(record, incident, context) };
    case "stop":
      return record.seen.terminal === null ? handOver("not-supervised") : stop(record, incident, policy);
  }
}
