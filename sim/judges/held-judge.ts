import { findingKinds, type HealthState, type Policy } from "@rouse/contract";
import type { Eyes } from "../actors/eyes.ts";
import type { HeldActor } from "../actors/held-actor.ts";
import { quietKind } from "../actors/quiet-kinds.ts";
import { detectedWithin } from "../actors/sickness-names.ts";
import type { Holder } from "../world/holders.ts";

const second = 1000;
const minute = 60 * second;
/** A report that was saved this long ago counts as known to the monitor. */
const oneTurn = 4.5 * second;

interface Parts {
  readonly now: () => number;
  readonly violated: (text: string) => void;
  readonly policyOf: (agentId: string) => Policy;
  readonly holderOf: (agentId: string) => Holder | undefined;
  readonly isOpen: (agentId: string) => boolean;
  readonly isLeftAtLimit: (agentId: string) => boolean;
  readonly excusedSince: (at: number) => number;
  readonly eyes: Eyes;
}

type Ill = "UNRESPONSIVE" | "STUCK" | "FAILING";

/** Verdicts on held agents against the truth, in both directions. */
export function judgeHeld(parts: Parts) {
  const { now, violated, policyOf, holderOf, isOpen, isLeftAtLimit, excusedSince, eyes } = parts;
  const states = new Map<string, HealthState>();
  const told = new Set<object>();
  const illAt = new Map<string, number>();
  /** Which life of each the monitor knows. */
  const known = new Map<string, number>();
  const questions = new Set<string>();
  let lookAlikes = 0;

  /** As far as anybody outside could know. */
  function isRightlyIll(actor: HeldActor): boolean {
    const { life } = actor;
    // Without its holder, nobody knows how the process ended.
    if (life.exit !== null) return !life.finished || holderOf(actor.id)?.dead === true;
    if (life.sickness !== null) return true;
    return life.cure !== null && (life.cure.seenAt === null || life.cure.seenAt > now() - oneTurn);
  }

  /** Well and quiet, and nothing was to be seen of it; or nobody could look; or it has gone on for longer than work of children may. */
  function looksStuck({ id, traits, life }: HeldActor): boolean {
    const { mode } = life;
    // A busy agent looks idle when its processes cannot be looked at.
    if (!eyes.wasOpenSince("processes", id, now() - 2 * policyOf(id).longestWait.children)) return true;
    if (traits.quiet === null) return false;
    if (mode.kind !== "quiet") return traits.rhythm === "irregular" || traits.rhythm === "once";
    const { shownBy } = quietKind(mode.as);
    if (shownBy === null) return true;
    if (shownBy === "stream") return false;
    if (shownBy === "screen") return !mode.recognised;
    // It takes two looks to know, and nobody looks at these more than every four minutes.
    if (now() - mode.since < 10 * minute) return true;
    const since = mode.since - 10 * minute;
    const isSeen = eyes.wasOpenSince(shownBy, id, since);
    return !isSeen || now() - mode.since > policyOf(id).longestWait.children - 10 * minute;
  }

  return {
    /** `true`: rightly called ill, `false`: not; `null`: it is no such verdict. */
    noteVerdict(actor: HeldActor, to: HealthState, because: string): boolean | null {
      states.set(actor.id, to);
      if (!isIll(to)) return null;
      illAt.set(actor.id, now());
      if (isRightlyIll(actor)) return true;
      const { life, traits } = actor;
      // The verdict is about the life before: a person started the next one before the monitor heard of the end.
      if ((known.get(actor.id) ?? 0) < life.incarnation) return null;
      if (traits.secretive || traits.hoarse || looksStuck(actor)) {
        lookAlikes += 1;
        return null;
      }
      violated(
        `${actor.id} was called ${to} because ${because} (${life.mode.kind} for ${((life.mode.until - now()) / minute).toFixed(1)} more min, life ${life.incarnation}, ${JSON.stringify(traits)})`,
      );
      return false;
    },

    noteHeld: (agentId: string, incarnation: number): void => void known.set(agentId, incarnation),

    noteIncident(incident: string, cause: string): void {
      if (!isFinding(cause)) questions.add(incident);
    },

    /** The monitor says that the agent is well again. An incident without a finding was only somebody's question. */
    noteWell(actor: HeldActor, incident: string): void {
      const { sickness, incarnation } = actor.life;
      if (sickness === null || !actor.isAlive() || questions.has(incident) || isLeftAtLimit(actor.id)) return;
      // A verdict for missed beats ends with the next beat. Standing still is judged apart.
      if (actor.traits.rhythm === "irregular") return;
      // Fallen ill again only just, as far as the monitor could know of it, or held by nobody who could see. Failures are told by beats alone.
      const knownAfter = sickness.kind === "failing" ? detectedWithin(actor, policyOf(actor.id)) : 5 * minute;
      const lasts = now() - sickness.since - excusedSince(sickness.since);
      // Whose processes compute is at work for as long as children may be waited for, from the last that was heard of its work.
      const isNew = lasts < knownAfter + (sickness.busy ? policyOf(actor.id).longestWait.children : 0);
      if (isNew || holderOf(actor.id)?.dead === true) return;
      // Silence of one whose processes nobody can look at is a warning.
      if (!eyes.wasOpenSince("processes", actor.id, sickness.since)) return;
      const since = ((now() - sickness.since) / minute).toFixed(1);
      violated(
        `${actor.id} was called well again and has been ${sickness.kind} for ${since} min (life ${incarnation})`,
      );
    },
    /** Verdicts on agents at work that nobody could have told from stuck ones. */
    lookAlikes: () => lookAlikes,
    lookForTheForgotten(actors: Iterable<HeldActor>): void {
      for (const actor of actors) {
        const { life } = actor;
        const holder = holderOf(actor.id);
        const limitedUntil = actor.downAtLimitUntil();
        if (limitedUntil !== null && now() < limitedUntil + 10 * minute + excusedSince(limitedUntil)) continue;
        if ((actor.isAlive() ? life.sickness === null : life.finished || life.foreground) || holder?.dead === true)
          continue;
        const matter = life.sickness ?? life.exit ?? life;
        const since = life.exit?.at ?? life.sickness?.since ?? now();
        const state = states.get(actor.id) ?? "HEALTHY";
        if (isIll(state) || state === "TERMINATED" || isOpen(actor.id) || told.has(matter)) continue;
        const mute = Math.max(0, (holder?.muteUntil ?? 0) - since);
        if (now() - since <= detectedWithin(actor, policyOf(actor.id)) + excusedSince(since) + mute) continue;
        if (actor.isAlive() && isLeftAtLimit(actor.id)) continue;
        // Silence of one whose processes nobody can look at is a warning and no more, however long it lasts.
        if (actor.isAlive() && !eyes.wasOpenSince("processes", actor.id, since)) continue;
        // A beat now and then ends one verdict before the next is found.
        if (actor.traits.rhythm === "irregular" && (illAt.get(actor.id) ?? 0) > since) continue;
        told.add(matter);
        violated(
          `${actor.id} has been ${life.exit === null ? life.sickness?.kind : "gone"} for ${((now() - since) / minute).toFixed(1)} min and is ${state} (life ${life.incarnation}, ${JSON.stringify(actor.traits)}, ${JSON.stringify(life.sickness)})`,
        );
      }
    },
  };
}

const isFinding = (cause: string): boolean => (findingKinds as readonly string[]).includes(cause);

const isIll = (state: HealthState): state is Ill =>
  state === "UNRESPONSIVE" || state === "STUCK" || state === "FAILING";

export type HeldJudge = ReturnType<typeof judgeHeld>;
