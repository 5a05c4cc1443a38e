import type { RecoveryContext } from "@rouse/contract";
import type { StopRequest } from "../../packages/daemon/src/ports/holders.ts";
import type { HeldActor } from "../actors/held-actor.ts";
import type { HandsWitness } from "../world/holder-port.ts";
import type { Holder } from "../world/holders.ts";
import type { BudgetJudge } from "./budget-judge.ts";

const second = 1000;
const minute = 60 * second;

/** A stop is ordered, saved and carried out within one turn of the monitor's loop; what it had in writing before that turn it knew. */
const oneTurn = 2.5 * second;

interface Parts {
  readonly now: () => number;
  readonly violated: (text: string) => void;
  readonly budget: BudgetJudge;
  readonly hostOf: (agentId: string) => string;
  /** Where the next life of this agent should go on from. */
  readonly newestRight: (actor: HeldActor) => readonly (string | null)[];
  /** Whether the work is saved that this stop would lose. */
  readonly isSafe: (agentId: string, key: string) => boolean;
  readonly holderOf: (agentId: string) => Holder | undefined;
  /** Its beats may be on their way and not get through. */
  readonly isCutOff: (agentId: string) => boolean;
  /** How much of the time since then the monitor was not there at all. */
  readonly blindSince: (at: number) => number;
  /** Told of every stop, with who decided it. */
  readonly noteStop: (actor: HeldActor, key: string, by: "rouse" | "decision" | "person") => void;
}

/** The end of one life that somebody should see to. */
interface Death {
  readonly at: number;
  readonly incarnation: number;
  /** Why nobody can be expected to bring it back without a person; `null`: Rouse should. */
  excuse: string | null;
  outcome: "open" | "brought-back" | "wrong-checkpoint" | "by-a-person";
}

export interface HandsFindings {
  readonly stops: number;
  /** By Rouse itself: the one number that must be 0. */
  readonly healthyStopped: number;
  /** Because somebody who was asked decided so. */
  readonly healthyStoppedByDecision: number;
  readonly healthyStoppedByPeople: number;
  readonly nudgesGiven: number;
  readonly deaths: number;
  readonly recoverable: number;
  readonly broughtBack: number;
  /** The first few that were not. */
  readonly lost: readonly string[];
}

/** Holds what was really done to agents against what was really the matter with them. */
export function judgeHands({
  now,
  violated,
  budget,
  hostOf,
  newestRight,
  isSafe,
  holderOf,
  isCutOff,
  blindSince,
  noteStop,
}: Parts) {
  const deaths = new Map<string, Death[]>();
  const keys = new Set<string>();
  const livesStopped = new Set<string>();
  const livesStarted = new Set<string>();
  const nudges = new Set<string>();
  let stops = 0;
  let healthyStopped = 0;
  let healthyStoppedByDecision = 0;
  let healthyStoppedByPeople = 0;
  let frozenSince: number | null = null;

  const isPersons = (key: string): boolean => /^[^/]+\/(stop|restart)\//.test(key);

  const isDecided = (key: string): boolean => key.includes("/stop/decided/");

  function noteDeath(actor: HeldActor): void {
    const { traits, life, chronic, respawnFailsUntil } = actor;
    const known = deaths.get(actor.id) ?? [];
    if (known.some(({ incarnation }) => incarnation === life.incarnation)) return;
    const excuse = !traits.mayAct
      ? "policy"
      : life.foreground
        ? "a person's terminal"
        : chronic !== null
          ? "chronic"
          : respawnFailsUntil === Number.POSITIVE_INFINITY
            ? "command gone"
            : null;
    deaths.set(actor.id, [...known, { at: now(), incarnation: life.incarnation, excuse, outcome: "open" }]);
  }

  const lastDeath = (actor: HeldActor): Death | undefined =>
    deaths.get(actor.id)?.findLast(({ incarnation }) => incarnation === actor.life.incarnation);

  function judgeStop(actor: HeldActor, { key }: StopRequest): void {
    const { life, traits } = actor;
    const { cure } = life;
    const doing = `${life.mode.kind}, life ${life.incarnation}, ${JSON.stringify(traits)}`;
    if (!traits.mayAct) violated(`${key}: ${actor.id} was stopped although its policy forbids it`);
    if (actor.attached() > 0 && now() - (attachedSince.get(actor.id) ?? now()) > oneTurn)
      violated(`${key}: ${actor.id} was stopped with a person at its terminal`);
    if (frozenSince !== null && now() - frozenSince > oneTurn) violated(`${key}: ${actor.id} was stopped in a freeze`);
    if (!isSafe(actor.id, `${key}/work`)) violated(`${key}: ${actor.id} was stopped and its work was not saved`);
    if (holderOf(actor.id)?.dead === true) violated(`${key}: ${actor.id} was stopped although nobody holds it`);
    if (life.sickness !== null || couldNotKnow(actor)) return;
    // The orchestrator's own decision about an agent that warnings stood against.
    if (isDecided(key)) {
      healthyStoppedByDecision += 1;
      return;
    }
    healthyStopped += 1;
    const cured = cure === null ? "" : `, cured ${((now() - cure.at) / second).toFixed(0)} s ago`;
    violated(`${key}: ${actor.id} was stopped and was well (${doing}${cured})`);
  }

  /** The agent got well only just now, or the monitor could not see it. Blindness of the monitor is no excuse: it must not act then. */
  function couldNotKnow({ id, life: { cure } }: HeldActor): boolean {
    if (cure === null) return false;
    if (cure.seenAt !== null) return cure.seenAt > now() - oneTurn;
    const holder = holderOf(id);
    const outOfSight = holder === undefined || holder.dead || holder.muteUntil > cure.at || isCutOff(id);
    return outOfSight || now() - cure.at < 20 * second;
  }

  const attachedSince = new Map<string, number>();

  const witness: HandsWitness = {
    stopWanted: () => undefined,
    stopped(actor, request) {
      const { key } = request;
      if (keys.has(key)) violated(`${key} was carried out twice`);
      keys.add(key);
      const life = `${actor.id}/${actor.life.incarnation}`;
      if (livesStopped.has(life) && !survivors.has(life)) violated(`${life} was stopped twice`);
      livesStopped.add(life);
      noteStop(actor, key, isPersons(key) ? "person" : isDecided(key) ? "decision" : "rouse");
      if (isPersons(key)) {
        if (actor.isWell()) healthyStoppedByPeople += 1;
        return;
      }
      stops += 1;
      judgeStop(actor, request);
      budget.noteExecuted(actor.id, hostOf(actor.id));
      noteDeath(actor);
    },
    survived(actor) {
      survivors.add(`${actor.id}/${actor.life.incarnation}`);
      const death = lastDeath(actor);
      if (death !== undefined) death.excuse ??= "survivors";
    },
    nudged(actor, key) {
      if (nudges.has(key)) violated(`${key} was given to ${actor.id} twice`);
      nudges.add(key);
    },
    startWantedAtLimit(actor, limit) {
      if (!limit.left)
        violated(`${actor.id} was to be started although its program had just said that its limit stands`);
    },
    revived(actor, context) {
      const life = `${actor.id}/${actor.life.incarnation}`;
      if (livesStarted.has(life)) violated(`${life} was followed by two lives`);
      livesStarted.add(life);
      const wasSeen = holderOf(actor.id)?.dead !== true;
      if (actor.life.finished && wasSeen && !orderedBack.has(life))
        violated(`${actor.id} had finished and was brought back`);
      const death = lastDeath(actor);
      const isRight = checkContext(actor, context);
      if (death?.outcome === "open") death.outcome = isRight ? "brought-back" : "wrong-checkpoint";
    },
  };
  const survivors = new Set<string>();
  const orderedBack = new Set<string>();

  function checkContext(actor: HeldActor, context: RecoveryContext | null): boolean {
    const right = newestRight(actor);
    if (context !== null && right.includes(context.checkpoint)) return true;
    violated(
      `${actor.id} was to go on from ${context?.checkpoint ?? "the start"}; the newest that is right is ${right[0] ?? "none"}`,
    );
    return false;
  }

  /** A death of the last 30 minutes may still be dealt with. */
  const isExpected = ({ excuse, outcome, at }: Death): boolean =>
    excuse === null && (outcome !== "open" || now() - at > 30 * minute);

  function findings(): HandsFindings {
    const all = [...deaths.values()].flat();
    const expected = all.filter(isExpected);
    const lost = [...deaths].flatMap(([agentId, of]) =>
      of
        .filter((death) => isExpected(death) && death.outcome !== "brought-back")
        .map(
          ({ at, incarnation, outcome }) => `${agentId}/${incarnation} at ${(at / second).toFixed(0)} s: ${outcome}`,
        ),
    );
    return {
      stops,
      healthyStopped,
      healthyStoppedByDecision,
      healthyStoppedByPeople,
      nudgesGiven: nudges.size,
      deaths: all.length,
      recoverable: expected.length,
      broughtBack: expected.length - lost.length,
      lost: lost.slice(0, 10),
    };
  }

  return {
    witness,
    noteDeath,
    /** Nothing more is to be expected of Rouse for this life: it was decided so, or its budget is used up. */
    excuse(actor: HeldActor, why: string): void {
      const death = lastDeath(actor);
      if (death?.outcome === "open") death.excuse ??= why;
    },
    /** A person sees to it. Whether they had to depends on whether the monitor was given the time to. */
    noteHelp(actor: HeldActor): void {
      const death = lastDeath(actor);
      if (death?.outcome !== "open") return;
      if (now() - death.at - blindSince(death.at) < 10 * minute) death.excuse ??= "a person was quicker";
      else death.outcome = "by-a-person";
    },
    noteAttached(actor: HeldActor): void {
      if (actor.attached() > 0 && !attachedSince.has(actor.id)) attachedSince.set(actor.id, now());
      if (actor.attached() === 0) attachedSince.delete(actor.id);
    },
    /** A person ordered the next life, however this one ended. */
    orderedBack: (agentId: string, incarnation: number): void => void orderedBack.add(`${agentId}/${incarnation}`),
    freezes: {
      began: (): void => {
        frozenSince = now();
      },
      ends: (): void => {
        frozenSince = null;
      },
    },
    findings,
  };
}

export type HandsJudge = ReturnType<typeof judgeHands>;
