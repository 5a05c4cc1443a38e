import {
  type DurationMs,
  type EscalationDecision,
  type EscalationReason,
  fleetId,
  type MonoMs,
  type Policy,
  type RouseEvent,
} from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import type { Escalation } from "../incident.ts";
import { timeToAnswer } from "../intervene/escalation-life.ts";
import type { Action, ActionOutcome } from "../signal.ts";
import { nodeScope, type Scope, wholeFleet } from "./watch-fleet.ts";

/** How far it has come. `held`: first our own path is suspected. `decided`: somebody has it in hand, and it waits for its members. */
type Stage =
  | { readonly kind: "held" }
  | { readonly kind: "asked"; readonly question: Escalation }
  | { readonly kind: "more-time"; readonly until: MonoMs }
  | { readonly kind: "decided" };

/** Many agents that fell silent together: one matter, with one alert and one question, for as long as one of them is silent. */
export interface FleetIncident {
  readonly id: string;
  readonly scope: Scope;
  readonly openedAt: MonoMs;
  /** How many it was about in all. */
  readonly came: number;
  /** Who of them is silent still. */
  readonly silent: readonly string[];
  /** Who of them was heard again; absent in what an earlier version saved. */
  readonly heard?: readonly string[];
  /** Others have joined since somebody was asked: what was asked, granted or decided was not about them. */
  readonly grown?: boolean;
  readonly stage: Stage;
  /** Key of the alert that stands for all of them. */
  readonly alert: string | null;
}

/** What outlives the monitor. */
export interface SavedFleet {
  readonly incidents: readonly FleetIncident[];
  /** Incidents, questions and alerts so far: their numbers make ids that are never used twice. */
  readonly counts: { readonly incidents: number; readonly questions: number; readonly alerts: number };
}

/** What somebody decided for all of them, to be told to each. */
export interface DecidedForAll {
  readonly agents: readonly string[];
  readonly decision: Exclude<EscalationDecision, "allow_more_time">;
  readonly actor: string;
}

export interface FleetDoings {
  readonly events: readonly RouseEvent[];
  readonly actions: readonly Action[];
  readonly decided: DecidedForAll | null;
}

const nothing: FleetDoings = { events: [], actions: [], decided: null };

interface Open extends Omit<FleetIncident, "silent" | "heard"> {
  readonly silent: Set<string>;
  readonly heard: Set<string>;
  grown: boolean;
  came: number;
  stage: Stage;
  alert: string | null;
}

/** Names that are told of so many; the rest is counted. */
const mostNamed = 100;
const mostInSummary = 5;
const reason: EscalationReason = "mass-silence";

/**
 * The incidents of the fleet. Their members have no alert and no question of their own for their silence. An agent is a member of one of them at most;
 * one of the whole fleet takes in those of its nodes. It keeps state but reads no clock.
 */
export function keepFleetIncidents(saved: SavedFleet | null, now: MonoMs, policy: () => Policy) {
  const incidents = new Map<Scope, Open>();
  const scopeOfMember = new Map<string, Scope>();
  /** Where nobody is judged for silence at the moment: whoever falls silent there falls silent with the others. */
  const holding = new Set<Scope>();
  /** Grows with everything that is to be saved. */
  let changes = 0;
  const counts = { ...(saved?.counts ?? { incidents: 0, questions: 0, alerts: 0 }) };
  for (const incident of saved?.incidents ?? []) {
    const silent = new Set(incident.silent);
    // Nobody knows any more how far the doubt in our own path had come: everybody gets a TTL to be heard.
    const { stage, grown = false } = incident;
    const isUntold = stage.kind === "held" || (grown && stage.kind !== "asked");
    incidents.set(incident.scope, {
      ...incident,
      ...{ silent, heard: new Set(incident.heard), grown: false },
      stage: isUntold ? { kind: "more-time", until: now + timeToBeHeard(policy()) } : stage,
    });
    for (const agentId of silent) scopeOfMember.set(agentId, incident.scope);
  }

  function open(scope: Scope, now: MonoMs): Open {
    counts.incidents += 1;
    const id = `${fleetId}/${counts.incidents}`;
    const incident: Open = {
      ...{ id, scope, openedAt: now, came: 0, silent: new Set<string>(), heard: new Set<string>() },
      ...{ grown: false, stage: { kind: "held" }, alert: null },
    };
    incidents.set(scope, incident);
    return incident;
  }

  function turnTo(incident: Open, stage: Stage): void {
    changes += 1;
    incident.stage = stage;
  }

  function join(incident: Open, agents: Iterable<string>): void {
    for (const agentId of agents) {
      if (scopeOfMember.has(agentId)) continue;
      changes += 1;
      scopeOfMember.set(agentId, incident.scope);
      incident.silent.add(agentId);
      if (!incident.heard.delete(agentId)) incident.came += 1;
      if (incident.stage.kind !== "held") incident.grown = true;
    }
  }

  /** Those of single nodes are part of it from here on. */
  function takeInOthers(whole: Open): FleetDoings[] {
    return [...incidents.values()].flatMap((incident) => {
      if (incident === whole) return [];
      for (const agentId of incident.silent) scopeOfMember.delete(agentId);
      join(whole, incident.silent);
      return [close(incident, "part-of-a-wider-one", whole.openedAt)];
    });
  }

  /** Many fell silent at once, and nobody is judged for it yet. */
  function holdBegan(scope: Scope, agents: readonly string[], of: number, now: MonoMs): FleetDoings {
    holding.add(scope);
    const known = incidents.get(wholeFleet) ?? incidents.get(scope);
    const isNews = agents.some((agentId) => !scopeOfMember.has(agentId));
    if (known !== undefined) {
      join(known, agents);
      return nothing;
    }
    if (!isNews && scope !== wholeFleet) return nothing;
    const incident = open(scope, now);
    const taken = scope === wholeFleet ? takeInOthers(incident) : [];
    join(incident, agents);
    const payload = { incident: incident.id, scope, silent: incident.silent.size, of, agents: named(incident) };
    return combine([...taken, { events: [{ type: "FLEET_INCIDENT_OPENED", payload }], actions: [], decided: null }]);
  }

  /** Our own path works, and there was time to be heard: who is silent still is somebody's matter. */
  function holdEnded(scope: Scope, now: MonoMs): FleetDoings {
    holding.delete(scope);
    const incident = incidents.get(scope) ?? incidents.get(wholeFleet);
    if (incident === undefined || mayGrow(incident)) return nothing;
    if (incident.silent.size === 0) return close(incident, "all-heard", now);
    if (incident.stage.kind !== "held" && !incident.grown) return nothing;
    return combine([withdraw(incident, "others fell silent as well; asked about all of them"), ask(incident, 0, now)]);
  }

  /** How one agent stands after its turn. Who falls silent while nobody is judged yet belongs to it. */
  function note(agentId: string, node: string | null, isSilent: boolean, now: MonoMs): FleetDoings {
    if (incidents.size === 0) return nothing;
    const scope = scopeOfMember.get(agentId);
    if (scope === undefined) {
      if (!isSilent) return nothing;
      const near = incidents.get(wholeFleet) ?? (node === null ? undefined : incidents.get(nodeScope(node)));
      if (near !== undefined && isHolding(node)) join(near, [agentId]);
      return nothing;
    }
    return isSilent ? nothing : leave(agentId, scope, now);
  }

  /** While the doubt lasts others may still fall silent for the same cause. */
  const mayGrow = ({ scope }: Open): boolean =>
    scope === wholeFleet ? holding.size > 0 : holding.has(scope) || holding.has(wholeFleet);

  const isHolding = (node: string | null): boolean =>
    holding.has(wholeFleet) || (node !== null && holding.has(nodeScope(node)));

  function leave(agentId: string, scope: Scope, now: MonoMs): FleetDoings {
    changes += 1;
    scopeOfMember.delete(agentId);
    const incident = incidents.get(scope);
    if (incident === undefined) return nothing;
    incident.silent.delete(agentId);
    incident.heard.add(agentId);
    return incident.silent.size > 0 || mayGrow(incident) ? nothing : close(incident, "all-heard", now);
  }

  /** Nobody answered: asked again, less and less often. Time that was allowed is used up: asked anew. */
  function due(now: MonoMs): FleetDoings {
    return combine(
      [...incidents.values()].map((incident) => {
        const { stage } = incident;
        if (stage.kind === "more-time" && now >= stage.until) return ask(incident, 0, now);
        if (stage.kind !== "asked" || now < stage.question.until) return nothing;
        const { id: escalation, openedAt, askedBefore } = stage.question;
        const waitedSeconds = Math.round((now - openedAt) / 1000);
        const payload = { agentId: fleetId, escalation, waitedSeconds };
        const unanswered: FleetDoings = {
          ...withdraw(incident, "nobody answered; it is asked again"),
          events: [{ type: "ESCALATION_UNANSWERED", payload }],
        };
        return combine([unanswered, ask(incident, askedBefore + 1, now)]);
      }),
    );
  }

  function ask(incident: Open, askedBefore: number, now: MonoMs): FleetDoings {
    counts.questions += 1;
    const allowed = timeToAnswer(askedBefore, policy());
    const question: Escalation = {
      ...{ id: `${fleetId}.${counts.questions}`, reason, severity: "SEV-2", severeSince: null, openedAt: now },
      ...{ until: now + allowed, askedBefore, otherwise: { kind: "keep" }, delivery: "queued" },
      ...{ acknowledged: null, overdueTold: false },
    };
    turnTo(incident, { kind: "asked", question });
    incident.grown = false;
    const payload = {
      ...{ agentId: fleetId, escalation: question.id, incident: incident.id, reason, severity: question.severity },
      answerWithinSeconds: Math.round(allowed / 1000),
    };
    return combine([
      alert(incident, now),
      {
        events: [{ type: "ESCALATION_TRIGGERED", payload }],
        actions: [
          {
            ...{ kind: "escalate", key: `${question.id}/asked`, agentId: fleetId },
            ...{ escalation: question.id, until: question.until },
          },
        ],
        decided: null,
      },
    ]);
  }

  /** One for all of them; asked again, it is told again. */
  function alert(incident: Open, now: MonoMs): FleetDoings {
    const before = resolve(incident);
    counts.alerts += 1;
    const key = `${fleetId}/alert/${counts.alerts}`;
    incident.alert = key;
    const summary = summarise(incident, now);
    const severity = "critical" as const;
    return combine([
      before,
      {
        events: [{ type: "ALERT_RAISED", payload: { agentId: null, alert: key, severity, summary } }],
        actions: [{ kind: "raise-alert", key, agentId: null, severity, summary }],
        decided: null,
      },
    ]);
  }

  function resolve(incident: Open): FleetDoings {
    const { alert } = incident;
    if (alert === null) return nothing;
    incident.alert = null;
    return {
      events: [{ type: "ALERT_RESOLVED", payload: { agentId: null, alert } }],
      actions: [{ kind: "resolve-alert", key: `${alert}/resolved`, agentId: null }],
      decided: null,
    };
  }

  function withdraw({ stage }: Open, because: string): FleetDoings {
    if (stage.kind !== "asked") return nothing;
    const { id } = stage.question;
    const action = {
      kind: "withdraw-escalation",
      key: `${id}/over`,
      agentId: fleetId,
      escalation: id,
      because,
    } as const;
    return { events: [], actions: [action], decided: null };
  }

  function close(incident: Open, because: "all-heard" | "part-of-a-wider-one", now: MonoMs): FleetDoings {
    changes += 1;
    incidents.delete(incident.scope);
    const lastedSeconds = Math.round((now - incident.openedAt) / 1000);
    const payload = { incident: incident.id, scope: incident.scope, because, came: incident.came, lastedSeconds };
    return combine([
      withdraw(incident, because),
      resolve(incident),
      { events: [{ type: "FLEET_INCIDENT_CLOSED", payload }], actions: [], decided: null },
    ]);
  }

  const findAsked = (escalation: string): { incident: Open; question: Escalation } | null => {
    for (const incident of incidents.values())
      if (incident.stage.kind === "asked" && incident.stage.question.id === escalation)
        return { incident, question: incident.stage.question };
    return null;
  };

  const listOpen = (): readonly FleetIncident[] =>
    [...incidents.values()].map((one) => ({ ...one, silent: [...one.silent], heard: [...one.heard] }));

  return {
    holdBegan,
    holdEnded,
    note,
    due,
    /** One decision for all. `null`: no such question is open. */
    decide(
      escalation: string,
      {
        decision,
        actor,
        reason,
        more,
      }: { decision: EscalationDecision; actor: string; reason: string; more: number | null },
      now: MonoMs,
    ): FleetDoings | null {
      const found = findAsked(escalation);
      if (found === null) return null;
      const { incident } = found;
      const over = withdraw(incident, `decided: ${decision}`);
      const isTime = decision === "allow_more_time";
      const until = now + (more ?? policy().escalation.timeout);
      turnTo(incident, isTime ? { kind: "more-time", until } : { kind: "decided" });
      const payload = { agentId: fleetId, escalation, decision, actor, reason };
      return {
        events: [{ type: "ESCALATION_DECIDED", payload }],
        actions: over.actions,
        decided: decision === "allow_more_time" ? null : { agents: [...incident.silent], decision, actor },
      };
    },
    /** Somebody is on it. `null`: no such question is open. */
    acknowledge(escalation: string, actor: string, now: MonoMs): FleetDoings | null {
      const found = findAsked(escalation);
      if (found === null) return null;
      const { incident, question } = found;
      if (question.acknowledged !== null) return nothing;
      turnTo(incident, { kind: "asked", question: { ...question, acknowledged: { actor, at: now } } });
      const payload = { agentId: fleetId, escalation, actor };
      return { events: [{ type: "ESCALATION_ACKNOWLEDGED", payload }], actions: [], decided: null };
    },
    /** What the hands say of the question. That nobody has it needs no alert of its own: there is one. */
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
      return { events: [{ type: "ESCALATION_UNDELIVERED", payload }], actions: [], decided: null };
    },
    /** Of which incident its silence is part. */
    partOf(agentId: string): string | null {
      const scope = scopeOfMember.get(agentId);
      return scope === undefined ? null : (incidents.get(scope)?.id ?? null);
    },
    /** It is not there any more. */
    forget(agentId: string, now: MonoMs): FleetDoings {
      const scope = scopeOfMember.get(agentId);
      return scope === undefined ? nothing : leave(agentId, scope, now);
    },
    /** Different from before when there is something to save. */
    changes: (): number => changes,
    open: listOpen,
    save: (): SavedFleet => ({ incidents: listOpen(), counts: { ...counts } }),
  };
}

export type FleetIncidents = ReturnType<typeof keepFleetIncidents>;

/** As long as whoever beats most rarely may take. */
const timeToBeHeard = (policy: Policy): DurationMs =>
  beatRhythm({ kind: "IDLE", since: 0 }, policy).ttl + policy.amnestyMargin;

const named = ({ silent }: Open): string[] => [...silent].slice(0, mostNamed);

/** Facts in fixed words; of what agents wrote, only ids get in. */
export function summariseFleet(scope: Scope, silent: readonly string[], seconds: number): string {
  const first = silent.slice(0, mostInSummary).join(", ");
  const more = silent.length > mostInSummary ? ` and ${silent.length - mostInSummary} more` : "";
  const where = scope === wholeFleet ? "" : ` on ${scope}`;
  const are = silent.length === 1 ? "agent is" : "agents are";
  return `${silent.length} ${are} silent${where} since many fell silent together ${seconds} s ago: ${first}${more}`;
}

const summarise = ({ scope, silent, openedAt }: Open, now: MonoMs): string =>
  summariseFleet(scope, [...silent], Math.round((now - openedAt) / 1000));

const combine = (doings: readonly FleetDoings[]): FleetDoings => ({
  events: doings.flatMap(({ events }) => events),
  actions: doings.flatMap(({ actions }) => actions),
  decided: doings.find(({ decided }) => decided !== null)?.decided ?? null,
});
