import { type EscalationDecision, type FleetCause, fleetId, type MonoMs, type Policy } from "@rouse/contract";
import { gatheringTime } from "../assess/terminal-signs.ts";
import { type Gap, newIn } from "../doubt.ts";
import type { Draft } from "../facts.ts";
import type { Escalation } from "../incident.ts";
import { askQuestion } from "../intervene/escalation-life.ts";
import { type ActionOutcome, type Told, tellRaised, tellResolved } from "../signal.ts";
import { type Scope, wholeFleet } from "./watch-fleet.ts";

/**
 * How far the incident has come. `held`: nobody is asked yet; our own path is suspected first, or the agents are being
 * started again. `decided`: somebody has it in hand.
 */
export type FleetStage =
  | { readonly kind: "held" }
  | { readonly kind: "asked"; readonly question: Escalation }
  | { readonly kind: "more-time"; readonly until: MonoMs }
  | { readonly kind: "decided" };

/**
 * Many agents that fell silent, or ended, together: one alert and one question, until none of them is silent or down.
 */
export interface FleetIncident {
  readonly id: string;
  readonly because: FleetCause;
  readonly scope: Scope;
  readonly openedAt: MonoMs;
  /** When an agent last joined. */
  readonly latest: MonoMs;
  /** How many agents it was about in all. */
  readonly came: number;
  /** Agents that are still silent or down. */
  readonly members: readonly string[];
  /** Agents that were heard again or are back, and since when. */
  readonly returned: readonly (readonly [agentId: string, since: MonoMs])[];
  /** Some of the agents ended or were removed instead. */
  readonly lost: boolean;
  /** Agents have joined since the question: what was asked, granted or decided was not about them. */
  readonly grown: boolean;
  readonly stage: FleetStage;
  /** Key of the alert that stands for all agents. */
  readonly alert: string | null;
}

/** What is saved across restarts of the monitor. */
export interface SavedFleet {
  readonly incidents: readonly (FleetIncident | EarlierFleetIncident)[];
  /** Incidents, questions and alerts so far: their numbers make ids that are never used twice. */
  readonly counts: { readonly incidents: number; readonly questions: number; readonly alerts: number };
}

/** As an earlier version saved it, when only silence made an incident. */
interface EarlierFleetIncident extends Pick<FleetIncident, "id" | "scope" | "openedAt" | "came" | "stage" | "alert"> {
  readonly silent: readonly string[];
  readonly heard?: readonly string[];
  readonly grown?: boolean;
}

export const readSaved = (saved: FleetIncident | EarlierFleetIncident): FleetIncident =>
  "members" in saved
    ? saved
    : {
        ...{ id: saved.id, because: "mass-silence", scope: saved.scope, openedAt: saved.openedAt },
        ...{ latest: saved.openedAt, came: saved.came, members: saved.silent, lost: false },
        returned: (saved.heard ?? []).map((agentId) => [agentId, saved.openedAt] as const),
        ...{ grown: saved.grown ?? false, stage: saved.stage, alert: saved.alert },
      };

/** A decision for all agents, to be told to each. */
interface DecidedForAll {
  readonly agents: readonly string[];
  readonly decision: Exclude<EscalationDecision, "allow_more_time">;
  readonly actor: string;
}

export interface FleetDoings extends Told {
  readonly decided: DecidedForAll | null;
}

export const nothing: FleetDoings = { events: [], actions: [], decided: null };

export const combine = (doings: readonly FleetDoings[]): FleetDoings => ({
  events: doings.flatMap(({ events }) => events),
  actions: doings.flatMap(({ actions }) => actions),
  decided: doings.find(({ decided }) => decided !== null)?.decided ?? null,
});

/** Withdraws the open question. */
export function withdraw({ stage }: Pick<FleetIncident, "stage">, because: string): FleetDoings {
  if (stage.kind !== "asked") return nothing;
  const { id: escalation } = stage.question;
  const key = `${escalation}/over`;
  return {
    ...nothing,
    actions: [{ kind: "withdraw-escalation", key, agentId: fleetId, escalation, because }],
  };
}

const mostInSummary = 5;

/** Facts in fixed words; of what agents wrote, only ids get in. */
export function summariseFleet(because: FleetCause, scope: Scope, members: readonly string[], seconds: number): string {
  const first = members.slice(0, mostInSummary).join(", ");
  const more = members.length > mostInSummary ? ` and ${members.length - mostInSummary} more` : "";
  const where = scope === wholeFleet ? "" : ` on ${scope}`;
  const are = members.length === 1 ? "agent is" : "agents are";
  const [how, together] = because === "mass-silence" ? ["silent", "fell silent"] : ["down", "ended"];
  return `${members.length} ${are} ${how}${where} since many ${together} together ${seconds} s ago: ${first}${more}`;
}

/** Tells people of an incident and asks about it. `counts` numbers alerts and questions. */
export function tellOfFleet(counts: { questions: number; alerts: number }, policy: () => Policy) {
  function ask(incident: Open, askedBefore: number, now: MonoMs): FleetDoings {
    counts.questions += 1;
    const id = `${fleetId}.${counts.questions}`;
    const how = { severity: "SEV-2", askedBefore, otherwise: { kind: "keep" } } as const;
    const question = { id, reason: incident.because, ...how };
    const { escalation, ...asked } = askQuestion(fleetId, incident.id, question, now, policy());
    incident.stage = { kind: "asked", question: escalation };
    return combine([alert(incident, now), { ...nothing, ...asked }]);
  }

  /** One alert for all agents; a repeated question renews it. */
  function alert(incident: Open, now: MonoMs): FleetDoings {
    const before = resolve(incident);
    counts.alerts += 1;
    const key = `${fleetId}/alert/${counts.alerts}`;
    incident.alert = key;
    const { because, scope, members, openedAt } = incident;
    const summary = summariseFleet(because, scope, [...members], Math.round((now - openedAt) / 1000));
    return combine([before, { ...nothing, ...tellRaised(key, null, "critical", summary) }]);
  }

  function resolve(incident: Open): FleetDoings {
    const { alert } = incident;
    if (alert === null) return nothing;
    incident.alert = null;
    return { ...nothing, ...tellResolved(alert, null) };
  }

  return { ask, alert, resolve };
}

/** An open incident as it is kept in memory. */
export interface Open extends Draft<Omit<FleetIncident, "members" | "returned">> {
  readonly members: Set<string>;
  readonly returned: Map<string, MonoMs>;
  /** Agents that a person has to see to, because nothing more is done about them. */
  readonly needy: Set<string>;
  /** Agents that somebody was told of since the last question. */
  readonly named: Set<string>;
  /** Agents that joined after the question: what was granted or decided was not about them. */
  readonly unasked: Set<string>;
  /** Agents that somebody is to be asked about. */
  readonly wanting: Set<string>;
  /** When somebody is told or asked: more agents may join until then. */
  tellAt: MonoMs | null;
  /** When to ask anew about agents that joined before this monitor started. */
  askAnewAt: MonoMs | null;
}

export const newOpen = (id: string, because: FleetCause, scope: Scope, now: MonoMs): Open => ({
  ...{ id, because, scope, openedAt: now, latest: now, came: 0, lost: false },
  ...{ members: new Set<string>(), returned: new Map<string, MonoMs>(), needy: new Set<string>() },
  ...{ named: new Set<string>(), unasked: new Set<string>(), wanting: new Set<string>(), tellAt: null },
  ...{ grown: false, askAnewAt: null, stage: { kind: "held" }, alert: null },
});

/** Restores an incident after a restart. `heardBy`: when every agent has had the time to be heard. */
export function reopen(incident: FleetIncident, now: MonoMs, heardBy: MonoMs): Open {
  const { because, stage, grown, members } = incident;
  const isSilence = because === "mass-silence";
  const isUntold = isSilence && (stage.kind === "held" || (grown && stage.kind !== "asked"));
  return {
    ...incident,
    ...{ members: new Set(members), returned: new Map(incident.returned) },
    needy: new Set(stage.kind === "held" || (grown && !isSilence) ? [] : members),
    ...{ named: new Set(grown ? [] : members), unasked: new Set(grown ? members : []), wanting: new Set<string>() },
    tellAt: grown && !isSilence ? now + gatheringTime : null,
    ...{ grown: false, askAnewAt: grown && stage.kind === "asked" ? heardBy : null },
    stage: isUntold ? { kind: "more-time", until: heardBy } : stage,
  };
}

export const asSaved = ({ needy, named, unasked, wanting, tellAt, askAnewAt, ...one }: Open): FleetIncident => ({
  ...one,
  grown: one.grown || askAnewAt !== null || tellAt !== null,
  ...{ members: [...one.members], returned: [...one.returned] },
});

/**
 * What comes back to a question about the fleet: a decision, an acknowledgement, its delivery. `turnTo` sets the next
 * stage.
 */
export function answerFleet(
  incidents: Iterable<Open>,
  turnTo: (incident: Open, stage: FleetStage) => void,
  policy: () => Policy,
) {
  const findAsked = (escalation: string): { incident: Open; question: Escalation } | null => {
    for (const incident of incidents)
      if (incident.stage.kind === "asked" && incident.stage.question.id === escalation)
        return { incident, question: incident.stage.question };
    return null;
  };

  return {
    /** One decision for all. `null`: no such question is open. */
    decide(
      escalation: string,
      given: { decision: EscalationDecision; actor: string; reason: string; more: number | null },
      now: MonoMs,
    ): FleetDoings | null {
      const { decision, actor, reason, more } = given;
      const found = findAsked(escalation);
      if (found === null) return null;
      const { incident } = found;
      const over = withdraw(incident, `decided: ${decision}`);
      const until = now + (more ?? policy().escalation.timeout);
      turnTo(incident, decision === "allow_more_time" ? { kind: "more-time", until } : { kind: "decided" });
      const payload = { agentId: fleetId, escalation, decision, actor, reason };
      return {
        events: [{ type: "ESCALATION_DECIDED", payload }],
        actions: over.actions,
        decided: decision === "allow_more_time" ? null : { agents: [...incident.members], decision, actor },
      };
    },
    /** A person acknowledges it. `null`: no such question is open. */
    acknowledge(escalation: string, actor: string, now: MonoMs): FleetDoings | null {
      const found = findAsked(escalation);
      if (found === null) return null;
      const { incident, question } = found;
      if (question.acknowledged !== null) return nothing;
      turnTo(incident, { kind: "asked", question: { ...question, acknowledged: { actor, at: now } } });
      const payload = { agentId: fleetId, escalation, actor };
      return { ...nothing, events: [{ type: "ESCALATION_ACKNOWLEDGED", payload }] };
    },
    /** The delivery of the question. A failure needs no alert of its own: there is one. */
    handsSaid(key: string, outcome: ActionOutcome): FleetDoings {
      const found = key.endsWith("/asked") ? findAsked(key.slice(0, -"/asked".length)) : null;
      if (found === null || found.question.delivery !== "queued") return nothing;
      const { incident, question } = found;
      const failed = outcome !== "delivered" && outcome.kind === "undelivered" ? outcome.problem : null;
      if (outcome !== "delivered" && failed === null) return nothing;
      const delivery = failed === null ? "delivered" : "failed";
      turnTo(incident, { kind: "asked", question: { ...question, delivery } });
      if (failed === null) return nothing;
      const payload = { agentId: fleetId, escalation: question.id, problem: failed };
      return { ...nothing, events: [{ type: "ESCALATION_UNDELIVERED", payload }] };
    },
  };
}

/** During a gap nobody could answer us: questions and granted time last as much longer. */
export function waitLonger(stage: FleetStage, gap: Gap, gaps: readonly Gap[]): FleetStage {
  if (stage.kind === "asked" && stage.question.until > gap.from) {
    const until = stage.question.until + newIn(gap, gaps, stage.question.openedAt);
    return { ...stage, question: { ...stage.question, until } };
  }
  if (stage.kind !== "more-time" || stage.until <= gap.from) return stage;
  return { ...stage, until: stage.until + newIn(gap, gaps, gap.from) };
}
