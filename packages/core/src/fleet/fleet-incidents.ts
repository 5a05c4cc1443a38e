import {
  type DurationMs,
  type FleetCause,
  fleetId,
  type MonoMs,
  type Policy,
  type SelfCheckPolicy,
} from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { gatheringTime } from "../assess/terminal-signs.ts";
import type { Gap } from "../doubt.ts";
import {
  answerFleet,
  asSaved,
  combine,
  type FleetDoings,
  type FleetIncident,
  type FleetStage,
  newOpen,
  nothing,
  type Open,
  readSaved,
  reopen,
  type SavedFleet,
  tellOfFleet,
  waitLonger,
  withdraw,
} from "./fleet-incident.ts";
import { type Presence, watchDeaths } from "./watch-deaths.ts";
import { nodeScope, type Scope, scopesOf, wholeFleet } from "./watch-fleet.ts";

/** How one agent stands after its turn. `needy`: its end needs a person, and nobody was asked about it alone. */
export interface FleetMember {
  readonly agentId: string;
  readonly node: string | null;
  readonly presence: Presence;
  readonly needy: boolean;
}

/** So many agents are named in an event; the rest is counted. */
const mostNamed = 100;

/**
 * The fleet's incidents. Their members have no alert and no question of their own for their silence or end. An agent is
 * a member of at most one of each kind; an incident of the whole fleet takes in those of its nodes. Keeps state, reads
 * no clock.
 */
export function keepFleetIncidents(
  saved: SavedFleet | null,
  now: MonoMs,
  policy: () => Policy,
  selfCheck: () => SelfCheckPolicy,
) {
  const incidents = new Set<Open>();
  const memberOf: Readonly<Record<FleetCause, Map<string, Open>>> = {
    "mass-silence": new Map(),
    "mass-failure": new Map(),
  };
  /** Scopes in which silence is not judged at the moment: an agent that falls silent there joins the others. */
  const holding = new Set<Scope>();
  const deaths = watchDeaths(selfCheck);
  /** Grows with every change that is to be saved. */
  let changes = 0;
  const counts = { ...(saved?.counts ?? { incidents: 0, questions: 0, alerts: 0 }) };
  const { alert, resolve, ask: question } = tellOfFleet(counts, policy);
  for (const one of saved?.incidents ?? []) recall(readSaved(one));

  function recall(incident: FleetIncident): void {
    const { because } = incident;
    // A restart forgets how far the doubt in our path had come, so every agent gets a TTL to be heard.
    const open = reopen(incident, now, now + timeToBeHeard(policy()));
    incidents.add(open);
    for (const agentId of open.members) memberOf[because].set(agentId, open);
    if (because === "mass-failure") for (const agentId of open.returned.keys()) memberOf[because].set(agentId, open);
  }

  const find = (because: FleetCause, scope: Scope): Open | undefined =>
    [...incidents].find((incident) => incident.because === because && incident.scope === scope);

  /** The incident that covers this node. */
  function findNear(because: FleetCause, node: string | null): Open | undefined {
    for (const scope of scopesOf(node)) {
      const incident = find(because, scope);
      if (incident !== undefined) return incident;
    }
    return undefined;
  }

  function open(because: FleetCause, scope: Scope, now: MonoMs): Open {
    counts.incidents += 1;
    const incident = newOpen(`${fleetId}/${counts.incidents}`, because, scope, now);
    incidents.add(incident);
    return incident;
  }

  function turnTo(incident: Open, stage: FleetStage): void {
    changes += 1;
    incident.stage = stage;
  }

  function join(incident: Open, agents: Iterable<string>, now: MonoMs): void {
    const members = memberOf[incident.because];
    for (const agentId of agents) {
      if (members.get(agentId)?.members.has(agentId)) continue;
      changes += 1;
      members.set(agentId, incident);
      incident.members.add(agentId);
      if (!incident.returned.delete(agentId)) {
        incident.latest = now;
        incident.came += 1;
      }
      incident.unasked.add(agentId);
      if (incident.because === "mass-failure" && !incident.named.has(agentId)) tellSoon(incident, now);
      if (incident.stage.kind !== "held") incident.grown = true;
    }
  }

  function tellSoon(incident: Open, now: MonoMs): void {
    incident.tellAt ??= now + gatheringTime;
  }

  /** Opens an incident or lets the agents join one. One of the whole fleet takes in those of its nodes. */
  function gather(because: FleetCause, scope: Scope, agents: readonly string[], of: number, now: MonoMs): FleetDoings {
    const known = find(because, wholeFleet) ?? find(because, scope);
    if (known !== undefined) {
      join(known, agents, now);
      return nothing;
    }
    const isNews = agents.some((agentId) => !memberOf[because].has(agentId));
    if (!isNews && scope !== wholeFleet) return nothing;
    const incident = open(because, scope, now);
    const taken = scope === wholeFleet ? takeInOthers(incident, now) : [];
    join(incident, agents, now);
    const payload = {
      ...{ incident: incident.id, because, scope, members: incident.members.size, of },
      agents: [...incident.members].slice(0, mostNamed),
    };
    return combine([...taken, { ...nothing, events: [{ type: "FLEET_INCIDENT_OPENED", payload }] }]);
  }

  /** Takes in the incidents of single nodes. */
  function takeInOthers(whole: Open, now: MonoMs): FleetDoings[] {
    return [...incidents].flatMap((incident) => {
      if (incident === whole || incident.because !== whole.because) return [];
      for (const agentId of incident.members) memberOf[incident.because].delete(agentId);
      join(whole, incident.members, now);
      // Nobody else asks about the agents that were asked about there.
      for (const agentId of whole.because === "mass-failure" ? incident.needy : []) {
        whole.needy.add(agentId);
        whole.wanting.add(agentId);
      }
      return [close(incident, "part-of-a-wider-one", now)];
    });
  }

  /** Many agents fell silent at once, and none is judged for it yet. */
  function holdBegan(scope: Scope, agents: readonly string[], of: number, now: MonoMs): FleetDoings {
    holding.add(scope);
    return gather("mass-silence", scope, agents, of, now);
  }

  /** Our path works and there was time to be heard: a person is asked about the agents that are still silent. */
  function holdEnded(scope: Scope, now: MonoMs): FleetDoings {
    holding.delete(scope);
    const incident = find("mass-silence", scope) ?? find("mass-silence", wholeFleet);
    if (incident === undefined || mayGrow(incident)) return nothing;
    if (incident.members.size === 0) return settle(incident, now);
    return incident.stage.kind === "held" || incident.grown ? askAnew(incident, now) : nothing;
  }

  function note({ agentId, node, presence, needy }: FleetMember, now: MonoMs): FleetDoings {
    const { died, many } = deaths.note(agentId, node, presence, now);
    const isDeath = died ? noteDeath(agentId, node, many, now) : nothing;
    if (incidents.size === 0) return isDeath;
    return combine([isDeath, noteSilence(agentId, node, presence, now), noteFailure(agentId, presence, needy, now)]);
  }

  /** An agent that falls silent during a hold joins the others. */
  function noteSilence(agentId: string, node: string | null, presence: Presence, now: MonoMs): FleetDoings {
    const incident = memberOf["mass-silence"].get(agentId);
    if (presence !== "silent")
      return incident === undefined ? nothing : leave(incident, agentId, presence === "there", now);
    const near = incident === undefined && isHolding(node) ? findNear("mass-silence", node) : undefined;
    if (near !== undefined) join(near, [agentId], now);
    return nothing;
  }

  /** An agent that dies soon after the others died with them, also when it came back in between. */
  function noteDeath(
    agentId: string,
    node: string | null,
    many: readonly { scope: Scope; agents: readonly string[]; of: number }[],
    now: MonoMs,
  ): FleetDoings {
    const incident = memberOf["mass-failure"].get(agentId) ?? findNear("mass-failure", node);
    const grows = incident?.scope !== wholeFleet && many.some(({ scope }) => scope === wholeFleet);
    if (incident !== undefined && !grows && (incident.returned.has(agentId) || now <= incident.latest + window())) {
      join(incident, [agentId], now);
      return nothing;
    }
    const [first] = many;
    if (first === undefined) return nothing;
    const opened = gather("mass-failure", first.scope, first.agents, first.of, now);
    const one = memberOf["mass-failure"].get(agentId);
    if (one === undefined) return opened;
    for (const other of first.agents) if (!deaths.isDown(other)) comeBack(one, other, now);
    changes += 1;
    // Agents that die in the next seconds are told of with these, once.
    return one.stage.kind === "held" ? opened : combine([opened, askAnew(one, now)]);
  }

  /**
   * An agent is back after it has lived as long as the window is. One that needs a person is asked about with the
   * others.
   */
  function noteFailure(agentId: string, presence: Presence, needy: boolean, now: MonoMs): FleetDoings {
    const incident = memberOf["mass-failure"].get(agentId);
    if (incident === undefined) return nothing;
    if (presence === "gone" || presence === "at-limit") return leave(incident, agentId, false, now);
    if (presence === "died") join(incident, [agentId], now);
    else comeBack(incident, agentId, now);
    if (!needy || presence !== "died") clearNeed(incident, agentId);
    else if (!incident.needy.has(agentId)) {
      incident.needy.add(agentId);
      const isOpen = incident.stage.kind === "asked" || incident.stage.kind === "more-time";
      if (isOpen && !incident.unasked.has(agentId)) return nothing;
      changes += 1;
      incident.wanting.add(agentId);
      tellSoon(incident, now);
    }
    return nothing;
  }

  function clearNeed(incident: Open, agentId: string): void {
    incident.needy.delete(agentId);
    incident.wanting.delete(agentId);
  }

  function comeBack(incident: Open, agentId: string, now: MonoMs): void {
    if (!incident.members.delete(agentId)) return;
    changes += 1;
    incident.returned.set(agentId, now);
  }

  /** During a hold more agents may fall silent for the same cause. */
  const mayGrow = ({ scope }: Open): boolean =>
    scope === wholeFleet ? holding.size > 0 : holding.has(scope) || holding.has(wholeFleet);

  const isHolding = (node: string | null): boolean =>
    holding.has(wholeFleet) || (node !== null && holding.has(nodeScope(node)));

  const window = (): DurationMs => selfCheck().massSilenceWindow;

  function leave(incident: Open, agentId: string, isWell: boolean, now: MonoMs): FleetDoings {
    changes += 1;
    memberOf[incident.because].delete(agentId);
    incident.members.delete(agentId);
    clearNeed(incident, agentId);
    if (isWell) incident.returned.set(agentId, now);
    else {
      incident.returned.delete(agentId);
      incident.lost = true;
    }
    return settle(incident, now);
  }

  /** An incident is over when no agent of it is silent or down and none may join. */
  function settle(incident: Open, now: MonoMs): FleetDoings {
    const { because, members, returned, lost } = incident;
    if (members.size > 0) return nothing;
    if (because === "mass-silence")
      return mayGrow(incident) ? nothing : close(incident, lost ? "none-left" : "all-heard", now);
    return returned.size === 0 ? close(incident, lost ? "none-left" : "all-back", now) : nothing;
  }

  /** An agent that is back leaves the incident; a later death is its own matter. */
  function release(incident: Open, now: MonoMs): void {
    if (incident.because !== "mass-failure") return;
    for (const [agentId, since] of incident.returned) {
      if (now < since + window()) continue;
      changes += 1;
      incident.returned.delete(agentId);
      memberOf["mass-failure"].delete(agentId);
    }
  }

  /** An unanswered question is asked again, less and less often. After granted time it is asked anew. */
  function due(now: MonoMs): FleetDoings {
    if (incidents.size === 0) return nothing;
    return combine(
      [...incidents].map((incident) => {
        release(incident, now);
        if (incident.members.size > 0) return followUp(incident, now);
        incident.tellAt = null;
        return settle(incident, now);
      }),
    );
  }

  function followUp(incident: Open, now: MonoMs): FleetDoings {
    const { stage, askAnewAt, tellAt } = incident;
    if (tellAt !== null && now >= tellAt) return tellOfMore(incident, now);
    if (stage.kind === "more-time" && now >= stage.until) return ask(incident, 0, now);
    if (stage.kind !== "asked") return nothing;
    if (askAnewAt !== null && now >= askAnewAt) return askAnew(incident, now);
    if (now < stage.question.until) return nothing;
    const { id: escalation, openedAt, askedBefore } = stage.question;
    const payload = { agentId: fleetId, escalation, waitedSeconds: Math.round((now - openedAt) / 1000) };
    return combine([
      {
        ...withdraw(incident, "nobody answered; it is asked again"),
        events: [{ type: "ESCALATION_UNANSWERED", payload }],
      },
      ask(incident, askedBefore + 1, now),
    ]);
  }

  /** Tells of the agents that joined, or asks about them when one needs a person. */
  const tellOfMore = (incident: Open, now: MonoMs): FleetDoings =>
    incident.wanting.size > 0 ? askAnew(incident, now) : tell(incident, now);

  function tell(incident: Open, now: MonoMs): FleetDoings {
    changes += 1;
    incident.tellAt = null;
    for (const agentId of incident.members) incident.named.add(agentId);
    return alert(incident, now);
  }

  function ask(incident: Open, askedBefore: number, now: MonoMs): FleetDoings {
    changes += 1;
    incident.grown = false;
    incident.askAnewAt = null;
    incident.tellAt = null;
    for (const once of [incident.named, incident.unasked, incident.wanting]) once.clear();
    for (const agentId of incident.members) incident.named.add(agentId);
    return question(incident, askedBefore, now);
  }

  /** The question before was not about all of them. */
  const askAnew = (incident: Open, now: MonoMs): FleetDoings =>
    combine([withdraw(incident, "others joined; asked about all of them"), ask(incident, 0, now)]);

  type Ending = "all-heard" | "all-back" | "none-left" | "part-of-a-wider-one";

  function close(incident: Open, because: Ending, now: MonoMs): FleetDoings {
    changes += 1;
    incidents.delete(incident);
    const members = memberOf[incident.because];
    for (const agentId of incident.returned.keys()) if (members.get(agentId) === incident) members.delete(agentId);
    const lastedSeconds = Math.round((now - incident.openedAt) / 1000);
    const payload = { incident: incident.id, scope: incident.scope, because, came: incident.came, lastedSeconds };
    const closed: FleetDoings = { ...nothing, events: [{ type: "FLEET_INCIDENT_CLOSED", payload }] };
    return combine([withdraw(incident, because), resolve(incident), closed]);
  }

  const listOpen = (): readonly FleetIncident[] => [...incidents].map(asSaved);

  return {
    holdBegan,
    holdEnded,
    note,
    /** Notes how an agent stood before anything is heard of it. */
    introduce: ({ agentId, node, presence }: FleetMember, now: MonoMs): void => {
      deaths.note(agentId, node, presence, now);
    },
    forgive(gap: Gap, gaps: readonly Gap[]): void {
      for (const incident of incidents) turnTo(incident, waitLonger(incident.stage, gap, gaps));
    },
    due,
    ...answerFleet(incidents, turnTo, policy),
    /** The incident that the agent's silence is part of. */
    silentWith: (agentId: string): string | null => memberOf["mass-silence"].get(agentId)?.id ?? null,
    /** The incident that the agent's end is part of. */
    diedWith: (agentId: string): string | null => memberOf["mass-failure"].get(agentId)?.id ?? null,
    mayDieWithOthers: deaths.mayBeMany,
    /** The agent was removed. */
    forget(agentId: string, now: MonoMs): FleetDoings {
      deaths.forget(agentId);
      return combine(
        [memberOf["mass-silence"].get(agentId), memberOf["mass-failure"].get(agentId)].map((incident) =>
          incident === undefined ? nothing : leave(incident, agentId, false, now),
        ),
      );
    },
    /** Differs from before when there is something to save. */
    changes: (): number => changes,
    open: listOpen,
    save: (): SavedFleet => ({ incidents: listOpen(), counts: { ...counts } }),
  };
}

export type FleetIncidents = ReturnType<typeof keepFleetIncidents>;

/** The longest that an agent may take to beat. */
const timeToBeHeard = (policy: Policy): DurationMs =>
  beatRhythm({ kind: "IDLE", since: 0 }, policy).ttl + policy.amnestyMargin;
