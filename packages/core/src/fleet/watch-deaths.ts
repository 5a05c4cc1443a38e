import type { MonoMs, SelfCheckPolicy } from "@rouse/contract";
import { endedAtLimit } from "../limit.ts";
import type { AgentRecord } from "../record.ts";
import { type Scope, scopesOf, wholeFleet } from "./watch-fleet.ts";

/**
 * How an agent stands. `died`: its process ended by itself and was not done; `at-limit`: it ended at a limit and will be
 * back after it; `gone`: it is done, or was ended.
 */
export type Presence = "there" | "silent" | "died" | "at-limit" | "gone";

export function presenceOf(record: AgentRecord): Presence {
  const { health } = record;
  const { findings } = record.health;
  const { activity } = record.work;
  const { terminal } = record.seen;
  if (activity.kind === "FINISHED" || health.state === "TERMINATED") return "gone";
  if (terminal !== null && terminal.exit !== null) {
    const exited = findings.find(({ kind }) => kind === "process-exited");
    if (exited === undefined || terminal.foreground) return "gone";
    // One that is not brought back after its limit is down like any other.
    return endedAtLimit(record) && exited.level === "note" ? "at-limit" : "died";
  }
  return findings.some(({ kind }) => kind === "missed-beats") ? "silent" : "there";
}

/** Many agents died within the window: enough in number and as a share of those that lived. */
interface MassDeath {
  readonly scope: Scope;
  readonly agents: readonly string[];
  readonly of: number;
}

interface Known {
  node: string | null;
  presence: Presence;
}

interface Place {
  /** Agents that live. */
  alive: number;
  /** Agents that died within the window, oldest first, and when. */
  readonly died: Map<string, MonoMs>;
  /** How many of those are still down. */
  down: number;
}

/** Who lives in the fleet and on each node, and who died lately. Keeps state, reads no clock. */
export function watchDeaths(policy: () => SelfCheckPolicy) {
  const known = new Map<string, Known>();
  const places = new Map<Scope, Place>();

  function placeOf(scope: Scope): Place {
    const place = places.get(scope) ?? { alive: 0, died: new Map(), down: 0 };
    places.set(scope, place);
    return place;
  }

  /** Expire first, then count. */
  function expire(place: Place, now: MonoMs): void {
    for (const [agentId, at] of place.died) {
      if (at + policy().massSilenceWindow >= now) return;
      place.died.delete(agentId);
      if (known.get(agentId)?.presence === "died") place.down -= 1;
    }
  }

  function leave(agentId: string, { node, presence }: Known): void {
    for (const scope of scopesOf(node)) {
      const place = placeOf(scope);
      if (isAlive(presence)) place.alive -= 1;
      if (presence === "died" && place.died.has(agentId)) place.down -= 1;
    }
  }

  function forget(agentId: string): void {
    const before = known.get(agentId);
    if (before === undefined) return;
    leave(agentId, before);
    known.delete(agentId);
    for (const scope of scopesOf(before.node)) placeOf(scope).died.delete(agentId);
  }

  return {
    /** Notes how an agent stands after its turn. `died`: it lived until now. */
    note(
      agentId: string,
      node: string | null,
      presence: Presence,
      now: MonoMs,
    ): { readonly died: boolean; readonly many: readonly MassDeath[] } {
      const before = known.get(agentId);
      if (before?.presence === presence && before.node === node) return alike;
      if (before?.node === node) leave(agentId, before);
      else forget(agentId);
      known.set(agentId, { node, presence });
      const died = presence === "died" && before !== undefined && mayDie(before.presence);
      const many: MassDeath[] = [];
      for (const scope of scopesOf(node)) {
        const place = placeOf(scope);
        if (isAlive(presence)) place.alive += 1;
        if (!died) continue;
        place.died.delete(agentId);
        place.died.set(agentId, now);
        place.down += 1;
        expire(place, now);
        const { massSilenceAgents, massSilenceShare } = policy();
        const of = place.alive + place.down;
        if (place.died.size >= massSilenceAgents && place.died.size >= massSilenceShare * of)
          many.push({ scope, agents: [...place.died.keys()], of });
      }
      return { died, many };
    },
    forget,
    isDown: (agentId: string): boolean => known.get(agentId)?.presence === "died",
    /** The fleet is large enough that one death may be part of many. */
    mayBeMany(now: MonoMs): boolean {
      const fleet = placeOf(wholeFleet);
      expire(fleet, now);
      return fleet.alive + fleet.down >= policy().massSilenceAgents;
    },
  };
}

const alike = { died: false, many: [] };

const isAlive = (presence: Presence): boolean => presence === "there" || presence === "silent";

/** One that ended at a limit has died when it cannot be started after it. */
const mayDie = (presence: Presence): boolean => isAlive(presence) || presence === "at-limit";
