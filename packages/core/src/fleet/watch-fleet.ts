import type { DurationMs, HoldCause, MonoMs, RouseEvent, SelfCheckPolicy } from "@rouse/contract";
import type { Hold } from "../doubt.ts";
import type { Draft } from "../facts.ts";

/** The whole fleet, or one node of it. */
export type Scope = string;
export const wholeFleet: Scope = "fleet";
export const nodeScope = (node: string): Scope => `node ${node}`;
export const scopesOf = (node: string | null): Scope[] =>
  node === null ? [wholeFleet] : [wholeFleet, nodeScope(node)];

/** What the fleet needs to know of one agent after each of its turns. */
export interface Standing {
  readonly agentId: string;
  readonly node: string | null;
  /** The agent should be heard from time to time: it has not finished and is not known to be gone. */
  readonly watched: boolean;
  /** Since when it has missed at least one beat. */
  readonly quietSince: MonoMs | null;
  readonly interval: DurationMs;
  readonly ttl: DurationMs;
}

interface Member extends Draft<Omit<Standing, "agentId" | "watched">> {
  /** Its silence was part of a hold that is over: it is judged now, and starts no other hold. */
  spent: boolean;
}

interface Surroundings {
  members: number;
  quiet: Set<string>;
  hold: Hold | null;
  /** An agent of the hold was heard again: the path works, and the others get a full TTL from then on. */
  returned: boolean;
  /** Agents of the hold that were judged meanwhile: their return proves the path, too. */
  judged: Set<string>;
  /** The two agents heard last, so that "another agent" can be answered for each. */
  latest: { agentId: string; at: MonoMs } | null;
  before: MonoMs | null;
}

/** A hold began, about these agents of so many; or ended. */
type HoldChange =
  | { readonly kind: "began"; readonly scope: Scope; readonly agents: readonly string[]; readonly of: number }
  | { readonly kind: "ended"; readonly scope: Scope };

export interface FleetNews {
  readonly events: readonly RouseEvent[];
  readonly holds: readonly HoldChange[];
  /** Agents whose verdict may change because a hold began, was proven or ended. */
  readonly wake: readonly string[];
}

const noNews: FleetNews = { events: [], holds: [], wake: [] };

/**
 * Mass silence. Many agents that go quiet together are far more likely one broken path than many deaths. So it is one
 * incident, and nobody is judged until our path is shown to work, plus one TTL. Keeps state, reads no clock.
 */
export function watchFleet(policy: () => SelfCheckPolicy) {
  const members = new Map<string, Member>();
  const places = new Map<Scope, Surroundings>();
  const placeOf = (scope: Scope): Surroundings => {
    let place = places.get(scope);
    if (place === undefined) {
      place = {
        members: 0,
        quiet: new Set(),
        hold: null,
        returned: false,
        judged: new Set(),
        latest: null,
        before: null,
      };
      places.set(scope, place);
    }
    return place;
  };

  function forget(agentId: string, member: Member): void {
    members.delete(agentId);
    for (const scope of scopesOf(member.node)) {
      const place = placeOf(scope);
      place.members -= 1;
      if (place.quiet.delete(agentId) && place.hold !== null) place.judged.add(agentId);
      if (place.members === 0 && place.hold === null) places.delete(scope);
    }
  }

  function join(standing: Standing): Member {
    const { agentId, node, interval, ttl } = standing;
    const member: Member = { node, quietSince: null, interval, ttl, spent: false };
    members.set(agentId, member);
    for (const scope of scopesOf(node)) placeOf(scope).members += 1;
    return member;
  }

  /** Notes how an agent stands after its turn. */
  function note(standing: Standing, now: MonoMs): FleetNews {
    let member = members.get(standing.agentId);
    if (member !== undefined && (!standing.watched || member.node !== standing.node)) {
      forget(standing.agentId, member);
      member = undefined;
    }
    if (!standing.watched) return noNews;
    member ??= join(standing);
    member.interval = standing.interval;
    member.ttl = standing.ttl;
    if (standing.quietSince === member.quietSince) return noNews;
    const wasQuiet = member.quietSince !== null;
    member.quietSince = standing.quietSince;
    if (standing.quietSince === null) return becomeAudible(standing.agentId, member, now);
    return wasQuiet ? noNews : becomeQuiet(standing.agentId, member, now);
  }

  function becomeQuiet(agentId: string, member: Member, now: MonoMs): FleetNews {
    const news: FleetNews[] = [];
    for (const scope of scopesOf(member.node)) {
      placeOf(scope).quiet.add(agentId);
      news.push(considerHold(scope, now));
    }
    return combine(news);
  }

  function becomeAudible(agentId: string, member: Member, now: MonoMs): FleetNews {
    member.spent = false;
    const wake: string[] = [];
    for (const scope of scopesOf(member.node)) {
      const place = placeOf(scope);
      if (!place.quiet.delete(agentId) || place.hold === null || place.returned) continue;
      place.returned = true;
      place.hold = { ...place.hold, provenAt: now };
      wake.push(...place.quiet);
    }
    return { ...noNews, wake };
  }

  /** Begins a hold when enough agents, in number and share, went quiet within the window and still are. */
  function considerHold(scope: Scope, now: MonoMs): FleetNews {
    const place = placeOf(scope);
    const { massSilenceAgents, massSilenceShare, massSilenceWindow } = policy();
    if (place.hold !== null || place.quiet.size < massSilenceAgents) return noNews;
    let silent = 0;
    for (const agentId of place.quiet) {
      const member = members.get(agentId);
      if (member === undefined || member.spent || member.quietSince === null) continue;
      // An agent that beats every five minutes cannot be seen to go quiet within one.
      if (member.quietSince + Math.max(massSilenceWindow, member.interval) >= now) silent += 1;
    }
    if (silent < massSilenceAgents || silent < massSilenceShare * place.members) return noNews;
    place.hold = { because: "mass-silence", since: now, provenAt: null };
    place.returned = false;
    place.judged.clear();
    const payload = { because: "mass-silence" as HoldCause, scope, silent, of: place.members };
    const agents = [...place.quiet];
    const began: HoldChange = { kind: "began", scope, agents, of: place.members };
    return { events: [{ type: "VERDICTS_HELD_BACK", payload }], holds: [began], wake: agents };
  }

  /** Our own path was shown to work. */
  function pathProven(now: MonoMs): FleetNews {
    const wake: string[] = [];
    for (const place of places.values()) {
      if (place.hold === null || place.hold.provenAt !== null) continue;
      place.hold = { ...place.hold, provenAt: now };
      wake.push(...place.quiet);
    }
    return { ...noNews, wake };
  }

  /** Ends the holds whose time is up. */
  function endHolds(now: MonoMs, margin: DurationMs): FleetNews {
    const news: FleetNews[] = [];
    for (const [scope, place] of places) {
      const { hold } = place;
      if (hold === null || (place.quiet.size > 0 && !isOver(hold, place, now, margin))) continue;
      place.hold = null;
      for (const agentId of place.quiet) spend(agentId);
      const lastedSeconds = Math.round((now - hold.since) / 1000);
      const event: RouseEvent = { type: "VERDICTS_RESUMED", payload: { because: hold.because, scope, lastedSeconds } };
      news.push({ events: [event], holds: [{ kind: "ended", scope }], wake: [...place.quiet] });
    }
    return combine(news);
  }

  function isOver(hold: Hold, place: Surroundings, now: MonoMs, margin: DurationMs): boolean {
    if (hold.provenAt === null) return false;
    let longest = 0;
    for (const agentId of place.quiet) longest = Math.max(longest, members.get(agentId)?.ttl ?? 0);
    return now >= hold.provenAt + longest + margin;
  }

  function spend(agentId: string): void {
    const member = members.get(agentId);
    if (member !== undefined) member.spent = true;
  }

  /** An agent was heard. */
  function hear(agentId: string, node: string | null, now: MonoMs): void {
    hearIn(wholeFleet, agentId, now);
    if (node !== null) hearIn(nodeScope(node), agentId, now);
  }

  function hearIn(scope: Scope, agentId: string, now: MonoMs): void {
    const place = placeOf(scope);
    if (place.hold !== null && !place.returned && place.judged.has(agentId)) {
      place.returned = true;
      place.hold = { ...place.hold, provenAt: now };
    }
    if (place.latest !== null && place.latest.agentId !== agentId) place.before = place.latest.at;
    if (place.latest !== null && place.latest.agentId === agentId) place.latest.at = now;
    else place.latest = { agentId, at: now };
  }

  /** The doubts about one agent: the hold it is under, and whether another agent near it is heard. */
  function around(agentId: string, node: string | null) {
    const fleet = placeOf(wholeFleet);
    const near = node === null ? fleet : placeOf(nodeScope(node));
    const neighbours = near.members >= 3 ? near : fleet;
    const voice = neighbours.latest;
    return {
      hold: fleet.hold ?? near.hold,
      peers: Math.max(0, neighbours.members - (members.has(agentId) ? 1 : 0)),
      peersHeardAt: voice === null || voice.agentId !== agentId ? (voice?.at ?? null) : neighbours.before,
    };
  }

  const holds = (): { scope: Scope; hold: Hold }[] =>
    [...places].flatMap(([scope, { hold }]) => (hold === null ? [] : [{ scope, hold }]));

  return { note, hear, around, pathProven, endHolds, holds, size: () => members.size };
}

export type FleetWatch = ReturnType<typeof watchFleet>;

const combine = (news: readonly FleetNews[]): FleetNews =>
  news.length === 0
    ? noNews
    : {
        events: news.flatMap((n) => n.events),
        holds: news.flatMap((n) => n.holds),
        wake: news.flatMap((n) => n.wake),
      };
