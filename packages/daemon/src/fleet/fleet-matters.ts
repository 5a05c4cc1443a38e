import {
  type ConfigSnapshot,
  type DecisionEffect,
  type EpochMs,
  type EscalationDecision,
  type EscalationNotice,
  type EscalationReport,
  fleetId,
  type MonoMs,
  type SavedEvent,
  type SelfDoubtReport,
  toIso,
} from "@rouse/contract";
import {
  type Escalation,
  type FleetDoings,
  type FleetIncident,
  type FleetIncidents,
  keepFleetIncidents,
  type SavedFleet,
  summariseFleet,
} from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { hintsFor } from "../escalations/remediation-hints.ts";
import type { Resumption } from "../ports/store.ts";

const mark = "fleet";
/** Names that a report lists; the rest is counted. */
const mostNamed = 100;

export const recallFleet = ({ marks }: Resumption, { now }: Moment, config: () => Config): FleetIncidents =>
  keepFleetIncidents(
    marks[mark] === undefined ? null : (JSON.parse(marks[mark]) as SavedFleet),
    now,
    () => policyOfAll(config()),
    () => config().selfCheck,
  );

/** What holds for nobody in particular. */
const nobody = { agentId: "", agentType: null, taskId: null };
const policyOfAll = (config: Config) => config.policyFor(nobody);

interface KeepingParts {
  readonly incidents: FleetIncidents;
  readonly commits: GroupCommit;
  readonly engine: Pick<Engine, "saveEvents" | "intend">;
}

/** Puts what is done about an incident of the fleet into the next commit, and the incident with it. */
export function keepFleetMatters({ incidents, commits, engine }: KeepingParts) {
  let saved = incidents.changes();

  function save(): void {
    if (incidents.changes() === saved) return;
    saved = incidents.changes();
    commits.draft().marks[mark] = JSON.stringify(incidents.save());
  }

  return {
    carry({ events, actions }: FleetDoings, { time }: Moment): void {
      if (events.length > 0) engine.saveEvents(events, time, fleetId);
      for (const action of actions) engine.intend(action, time);
      if (events.length > 0 || actions.length > 0) save();
    },
    /** Who joined and left since; not with each of them, because many come at once. */
    save,
  };
}

const decisions: readonly EscalationDecision[] = ["allow_more_time", "force_handoff", "terminate_and_recover"];

/** The open question about an incident of the fleet, as whoever is to answer it sees it. */
export function describeFleetQuestion(
  incident: FleetIncident,
  now: MonoMs,
  toWall: (at: MonoMs) => EpochMs,
): EscalationReport | null {
  const { stage, members, because, scope, id } = incident;
  if (stage.kind !== "asked") return null;
  const iso = (at: MonoMs): string => toIso(toWall(at));
  const { question } = stage;
  return {
    id: question.id,
    agentId: fleetId,
    incarnation: 0,
    taskId: null,
    incident: id,
    severity: question.severity,
    illness: "UNRESPONSIVE",
    cause: because === "mass-silence" ? "missed-beats" : "process-exited",
    reason: question.reason,
    openedAt: iso(question.openedAt),
    answerBy: iso(question.until),
    acknowledgeBy: null,
    acknowledged: acknowledgementOf(question, iso),
    askedBefore: question.askedBefore,
    otherwise: "keep-and-ask-again",
    decisions: [...decisions],
    summary: summariseFleet(because, scope, members, Math.round((now - incident.openedAt) / 1000)),
    members: { scope, count: members.length, agents: members.slice(0, mostNamed) },
  };
}

const acknowledgementOf = ({ acknowledged }: Escalation, iso: (at: MonoMs) => string) =>
  acknowledged === null ? null : { actor: acknowledged.actor, at: iso(acknowledged.at) };

/** The same with what may help. Of many agents, what is known of each is found under its own name. */
export function writeFleetNotice(
  report: EscalationReport,
  held: number,
  config: ConfigSnapshot,
  lastEvents: readonly SavedEvent[],
): EscalationNotice {
  const effectOf = (decision: EscalationDecision): DecisionEffect => {
    if (decision === "allow_more_time") return "waits-longer";
    if (held === 0) return "handed-to-a-person";
    if (report.reason === "mass-failure")
      return decision === "force_handoff" ? "stays-ended" : "resumes-after-checkpoint";
    return decision === "force_handoff" ? "told-and-stopped" : "resumes-after-checkpoint";
  };
  return {
    ...report,
    context: {
      traceIds: [`escalation:${report.id}`, `incident:${report.incident}`],
      findings: [],
      lastEvents: [...lastEvents],
      config,
      recovery: {
        ...{ supervised: held > 0, checkpoint: null, recoveriesLeft: 0, restartsLeft: 0 },
        options: decisions.map((decision) => ({ decision, effect: effectOf(decision) })),
      },
      // What helps with the end of one names that one, and these are many.
      hints: hintsFor(report, report.reason === "mass-failure" ? [] : ["missed-beats"], held > 0),
      answer: {
        path: `/api/v1/escalations/${encodeURIComponent(report.id)}/decision`,
        command: `rouse escalations decide ${report.id} DECISION`,
      },
    },
  };
}

/** For whoever asks how the monitor is. */
export const describeFleetIncidents = (
  incidents: FleetIncidents,
  iso: (at: MonoMs) => string,
): SelfDoubtReport["fleetIncidents"] =>
  incidents.open().map(({ id, because, scope, openedAt, members, came, stage }) => ({
    ...{ id, because, scope, since: iso(openedAt), members: members.length, came },
    escalation: stage.kind === "asked" ? stage.question.id : null,
  }));
