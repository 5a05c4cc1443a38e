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
  type FleetDoings,
  type FleetIncident,
  type FleetIncidents,
  keepFleetIncidents,
  type SavedFleet,
  summariseFleet,
} from "@rouse/core";
import type { Roster } from "../agents/roster.ts";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { hintsFor, howToAnswer } from "../escalations/remediation-hints.ts";
import type { Resumption } from "../ports/store.ts";

const mark = "fleet";
/** How many agents a report names; the rest is counted. */
const mostNamed = 100;

export const recallFleet = ({ marks }: Resumption, { now }: Moment, config: () => Config): FleetIncidents =>
  keepFleetIncidents(
    marks[mark] === undefined ? null : (JSON.parse(marks[mark]) as SavedFleet),
    now,
    () => policyOfAll(config()),
    () => config().selfCheck,
  );

/** The policy without the overrides of any agent, type or task. */
const policyOfAll = (config: Config) => config.policyFor({ agentId: "", agentType: null, taskId: null });

interface KeepingParts {
  readonly incidents: FleetIncidents;
  readonly commits: GroupCommit;
  readonly engine: Pick<Engine, "saveEvents" | "intend">;
}

/** Puts an incident of the fleet into the next commit, with what is done about it. */
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
    /** Called once for all agents that joined or left since, because many do at once. */
    save,
  };
}

const decisions: readonly EscalationDecision[] = ["allow_more_time", "force_handoff", "terminate_and_recover"];

/** The open question about an incident of the fleet, as its reader sees it. */
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
    acknowledged:
      question.acknowledged === null ? null : { ...question.acknowledged, at: iso(question.acknowledged.at) },
    askedBefore: question.askedBefore,
    otherwise: "keep-and-ask-again",
    decisions: [...decisions],
    summary: summariseFleet(because, scope, members, Math.round((now - incident.openedAt) / 1000)),
    members: { scope, count: members.length, agents: members.slice(0, mostNamed) },
  };
}

/** The same with what helps to answer. The details of each agent are found under its own name. */
export function writeFleetNotice(
  report: EscalationReport,
  held: number,
  config: ConfigSnapshot,
  lastEvents: readonly SavedEvent[],
): EscalationNotice {
  const effectOf = (decision: EscalationDecision): DecisionEffect => {
    if (decision === "allow_more_time") return "waits-longer";
    if (held === 0) return "handed-to-a-person";
    if (decision === "terminate_and_recover") return "resumes-after-checkpoint";
    return report.reason === "mass-failure" ? "stays-ended" : "told-and-stopped";
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
      // The hints about an agent that ended name that agent, and here are many.
      hints: hintsFor(report, report.reason === "mass-failure" ? [] : ["missed-beats"], held > 0),
      answer: howToAnswer(report),
    },
  };
}

/** The open incidents of the fleet, as the status of the monitor shows them. */
export const describeFleetIncidents = (
  incidents: FleetIncidents,
  iso: (at: MonoMs) => string,
): SelfDoubtReport["fleetIncidents"] =>
  incidents.open().map(({ id, because, scope, openedAt, members, came, stage }) => ({
    ...{ id, because, scope, since: iso(openedAt), members: members.length, came },
    escalation: stage.kind === "asked" ? stage.question.id : null,
  }));

export interface Onlooker {
  readonly agentId: string;
  /** Its token was made by name, so that it may run anywhere. */
  readonly elsewhere: boolean;
}

/** Whether its policy lets an agent read the health of another, or, for `null`, of any other. */
export type MaySee = (who: Onlooker, other: string | null) => boolean;

/**
 * With `own-node`, an agent sees those on this machine: all that Rouse holds, and all that name no node. What the
 * reader says of its own node does not count. A token that may be used anywhere says nothing about where its agent is,
 * so it sees none.
 */
export const fleetSight =
  ({ roster, config }: { readonly roster: Roster; readonly config: () => Config }): MaySee =>
  ({ agentId, elsewhere }, other) => {
    const own = roster.find(agentId)?.record;
    const reads = (own === undefined ? config().settings : config().settingsFor(policySubject(own))).fleet_read;
    if (reads !== "own-node") return reads === "all";
    if (elsewhere) return false;
    const seen = other === null ? undefined : roster.find(other)?.record;
    // An unknown agent may be asked for: there is nothing to see.
    return seen === undefined || seen.seen.terminal !== null || seen.identity.node === null;
  };
