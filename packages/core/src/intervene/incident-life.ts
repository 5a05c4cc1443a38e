import type {
  EndingReason,
  HealthReason,
  HealthState,
  Illness,
  IncidentEnding,
  MonoMs,
  RouseEvent,
} from "@rouse/contract";
import type { Context } from "../context.ts";
import { isQuestion } from "../decide/ask-orchestrator.ts";
import { endedWithOthers } from "../decide/choose-response.ts";
import { type Incident, isSettled, type Stage } from "../incident.ts";
import { type AgentRecord, isOver, lifeOf, withLadder } from "../record.ts";
import { type Intervened, join, raiseAlert, unchanged, withEvents } from "./alert-life.ts";
import { openEscalation, withdrawEscalation } from "./escalation-life.ts";
import { dropNudge, isReminder, nudgesSpent } from "./nudge-life.ts";
import { recallStop } from "./stop-life.ts";

export function openIncident(record: AgentRecord, illness: Illness, cause: HealthReason, context: Context): Intervened {
  const { now } = context;
  const { agentId, incarnation } = lifeOf(record);
  const number = record.ladder.counts.incidents + 1;
  const id = `${agentId}/${number}`;
  const incident: Incident = {
    id,
    incarnation,
    illness,
    cause,
    severity: "SEV-3",
    openedAt: now,
    nudges: nudgesSpent(record, cause, context),
    undelivered: 0,
    escalations: 0,
    stage: { kind: "open" },
  };
  return withEvents(
    withLadder(record, { incident, handedOver: null, counts: { ...record.ladder.counts, incidents: number } }),
    { type: "INCIDENT_OPENED", payload: { agentId, incident: id, illness, cause, severity: "SEV-3" } },
  );
}

export const withStage = (record: AgentRecord, incident: Incident, stage: Stage): AgentRecord =>
  withLadder(record, { incident: { ...incident, stage } });

/** The agent became worse: the same incident, from the first rung of the graver ladder. */
export function turnIncident(
  record: AgentRecord,
  incident: Incident,
  illness: Illness,
  cause: HealthReason,
  now: MonoMs,
): Intervened {
  const withdrawn = withdrawEscalation(record, "it became worse", now);
  const turned: Incident = { ...incident, illness, cause, stage: { kind: "open" } };
  return {
    ...withdrawn,
    record: { ...record, ladder: { ...record.ladder, incident: turned }, ending: { ...record.ending, refused: null } },
  };
}

/** Every incident ends in an event. A hand-over stays an alert until a person acts or it is over. */
export function closeIncident(
  before: AgentRecord,
  incident: Incident,
  ending: IncidentEnding,
  because: EndingReason,
  now: MonoMs,
): Intervened {
  const { agentId } = before;
  const asked = withdrawEscalation(before, because, now);
  const nudged = isNeededNoMore(before.ladder.nudge, ending) ? dropNudge(before, now) : unchanged(before);
  const lastedSeconds = Math.round((now - incident.openedAt) / 1000);
  const closed: RouseEvent = {
    type: "INCIDENT_CLOSED",
    payload: { agentId, incident: incident.id, ending, because, lastedSeconds },
  };
  const recalled = recallStop(before);
  const record: AgentRecord = {
    ...nudged.record,
    ladder: { ...nudged.record.ladder, incident: null },
    ending: { ...nudged.record.ending, stop: stopAfter(recalled.record), refused: null },
  };
  const told: Intervened = {
    record,
    events: [...asked.events, ...nudged.events, ...failures(before, incident, ending, because), closed],
    actions: [...asked.actions, ...nudged.actions, ...recalled.actions],
  };
  const isElsewhere = ending === "handed-to-a-person" || isSettled({ because });
  return isElsewhere ? join(told, passOn(before, record, incident, because, now)) : told;
}

/** A delivered nudge to an agent that is well again stays open: the agent may still confirm it. */
const isNeededNoMore = (nudge: AgentRecord["ladder"]["nudge"], ending: IncidentEnding): boolean =>
  nudge !== null && isReminder(nudge) && (ending !== "recovered" || nudge.state === "queued");

/** An order that came to nothing does not belong to the next incident; the one that ended the process stays known. */
function stopAfter(record: AgentRecord): AgentRecord["ending"]["stop"] {
  const { stop } = record.ending;
  if (stop === null || stop.cause === "ordered" || isOver(record)) return stop;
  return stop.orderedAt !== null && stop.outcome === null ? stop : null;
}

/** A person is called, unless the end is their own doing or settled. */
function passOn(
  before: AgentRecord,
  record: AgentRecord,
  { id, illness, cause }: Incident,
  because: EndingReason,
  now: MonoMs,
): Intervened {
  const { agentId, health } = record;
  const escalation = openEscalation(before);
  const question = escalation !== null && isQuestion(escalation);
  const asked = (question || because === "handed-off") && isFair(health.state);
  const burn = { calls: record.seen.facts.toolCallCount ?? 0, tokens: record.seen.facts.tokenCount ?? 0, told: 0 };
  const passed = withLadder(record, { handedOver: { incident: id, illness, because, at: now, asked, burn } });
  if (isSettled({ because }) || endedWithOthers(record)) return unchanged(passed);
  const summary = `${agentId} needs a person: ${illness} (${cause}), and ${inWords[because]}`;
  return raiseAlert(passed, { cause: health.reason, severity: "critical" }, summary, now);
}

const isFair = (state: HealthState): boolean => state === "HEALTHY" || state === "DEGRADED";

/** Used-up recoveries were told when they were used up. */
const failedRecovery: ReadonlySet<EndingReason> = new Set<EndingReason>(["relapse", "restarts-exhausted"]);

function failures(
  record: AgentRecord,
  incident: Incident,
  ending: IncidentEnding,
  because: EndingReason,
): RouseEvent[] {
  if (ending !== "handed-to-a-person" || !failedRecovery.has(because)) return [];
  const { agentId } = record;
  const { id: taskId } = record.task;
  const attempts = Math.max(1, record.recovery.attempts.length, record.recovery.restarts.length);
  return [
    { type: "RECOVERY_FAILED", payload: { agentId, taskId, reason: `${incident.illness}: ${because}`, attempts } },
  ];
}

const inWords: Readonly<Record<EndingReason, string>> = {
  "well-again": "it is well again",
  finished: "it has finished",
  ended: "its process ended",
  replaced: "it was replaced",
  "stood-probation": "its replacement is well",
  "new-life": "it lives anew",
  "ended-by-person": "a person ended it",
  relapse: "its replacement fell ill again",
  "restarts-exhausted": "it was started again as often as is allowed",
  "recoveries-exhausted": "it was brought back as often as is allowed",
  "restart-failed": "it could not be started again",
  "not-supervised": "Rouse did not start it and cannot stop it",
  survivors: "some of its processes could not be ended",
  mode: "its policy does not let Rouse stop or start it",
  protected: "its policy protects it from being stopped",
  "kill-refused": "the conditions for stopping it are not met",
  "not-brought-back": "starting it again would only repeat the error",
  "not-started-again": "its owner said that it is not started again (--restart no)",
  "in-a-persons-terminal": "it runs in a person's terminal",
  "nobody-answered": "nobody answered",
  "handed-off": "its task went to somebody else",
  "at-its-limit": "its provider's limit keeps it from working",
  "at-its-cap": "it used up the turns or the budget that its owner allowed",
  "refused-by-provider": "its provider refuses its account: log in, change its key or pay",
};
