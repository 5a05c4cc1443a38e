import type { RouseEvent } from "@rouse/contract";
import type { HeldActor } from "../actors/held-actor.ts";
import type { WorldLimit } from "../actors/held-life.ts";
import type { Holder } from "../world/holders.ts";
import { type Delays, summarise } from "./summarise.ts";

const second = 1000;
const minute = 60 * second;

interface Parts {
  readonly now: () => number;
  readonly violated: (text: string) => void;
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly excusedSince: (at: number) => number;
  readonly holderOf: (agentId: string) => Holder | undefined;
  readonly isOpen: (agentId: string) => boolean;
  readonly isHandedOver: (agentId: string) => boolean;
}

export interface LimitFindings {
  readonly reached: number;
  readonly resumed: number;
  /** Not started, because its program said that its limit still stood. */
  readonly putOff: number;
  /** From the reset to the start, of those whose process had ended and whose reset was named to the second or to the minute, in seconds. */
  readonly delay: Delays;
  readonly delayToMinute: Delays;
}

/** What Rouse does by its own decision. Orders and decisions of others are not judged here. */
const ownNudges: ReadonlySet<string> = new Set(["reminder", "loop", "limit-over"]);
const ownQuestions: ReadonlySet<string> = new Set(["ordered", "handoff-requested", "blocker-reported"]);

/** Of words, or of a longer answer, so much is believed, then the program is asked again: such a start is ordered early, and put off once more. */
const longestBelieved = 6 * 3600;
const isBelieved = (resetsInSeconds: number | null): boolean =>
  resetsInSeconds !== null && resetsInSeconds <= longestBelieved;

/** Holds what is done to agents at their limit against when it really was over. */
export function judgeLimits({ now, violated, actors, excusedSince, holderOf, isOpen, isHandedOver }: Parts) {
  const delays: number[] = [];
  const delaysToMinute: number[] = [];
  let reached = 0;
  let resumed = 0;
  let putOff = 0;
  const told = new Set<WorldLimit>();

  /** Words name the minute, so the minute is waited for to its end, and a moment more, because a fleet goes on one by one. */
  const allowed = ({ traits }: HeldActor): number => (traits.structured ? minute : minute + 20 * second);

  const tell = (actor: HeldActor, limit: WorldLimit, what: string): void =>
    violated(
      `${actor.id} ${what} ${((limit.resetAt - now()) / minute).toFixed(1)} min before its limit was over (${limit.end}, life ${limit.incarnation}, ${JSON.stringify(actor.traits)})`,
    );

  /** The monitor knew of the limit and of its end. Words are believed for so long and no longer. */
  function mustBeLeft(actor: HeldActor, what: string): void {
    const { limit, traits } = actor;
    if (limit === null || limit.knownAt === null || !limit.named || limit.left || now() >= limit.resetAt) return;
    if (!traits.structured && now() >= limit.since + longestBelieved * second) return;
    tell(actor, limit, what);
  }

  function noteStart(actor: HeldActor, because: string): void {
    if (because === "ordered") {
      if (actor.limit !== null) actor.limit.left = true;
      return;
    }
    mustBeLeft(actor, "was started again");
    const { limit } = actor;
    if (limit === null || because !== "limit-over") return;
    resumed += 1;
    // That was the limit of a life before, and what its program wrote since is another.
    if (limit.incarnation !== actor.life.incarnation) return;
    // A program that waited at its limit may have ended long after the reset.
    const due = Math.max(limit.resetAt, actor.life.exit?.at ?? 0);
    const late = now() - due;
    if (!limit.named || limit.left) return;
    (actor.traits.structured ? delays : delaysToMinute).push(Math.max(0, late) / second);
    // What the monitor hears, saves and does each takes a moment.
    if (late > allowed(actor) + excusedSince(due) + 10 * second)
      violated(`${actor.id} was started again ${(late / second).toFixed(0)} s after its limit was over`);
  }

  return {
    note(event: RouseEvent): void {
      const agentId = "agentId" in event.payload ? event.payload.agentId : null;
      const actor = typeof agentId === "string" ? actors.get(agentId) : undefined;
      if (actor === undefined) return;
      switch (event.type) {
        case "LIMIT_REACHED":
          reached += 1;
          if (actor.limit !== null) actor.limit.knownAt ??= now();
          return;
        case "NUDGE_QUEUED":
          if (event.payload.actor === "rouse" && ownNudges.has(event.payload.template)) mustBeLeft(actor, "was nudged");
          return;
        case "ESCALATION_TRIGGERED":
          if (!ownQuestions.has(event.payload.reason)) mustBeLeft(actor, "was asked about");
          return;
        case "ESCALATION_DECIDED":
        case "RESTART_CANCELLED":
          if (actor.limit !== null) actor.limit.left = true;
          return;
        case "TERMINATION_ORDERED":
          if (event.payload.because === "ordered") {
            if (actor.limit !== null) actor.limit.left = true;
          } else mustBeLeft(actor, "was to be stopped");
          return;
        case "RESTART_PUT_OFF":
          putOff += 1;
          // From here on it knows better, and the start that was ordered too early is none.
          if (actor.limit !== null)
            Object.assign(actor.limit, {
              resetAt: actor.limit.overAt,
              named: isBelieved(event.payload.resetsInSeconds),
            });
          return;
        case "RESTART_ORDERED":
          return noteStart(actor, event.payload.because);
      }
    },

    /** Agents whose process ended at a limit that is over, and that nobody has started again. */
    lookForTheForgotten(): void {
      for (const actor of actors.values()) {
        const { limit, life, traits } = actor;
        if (limit === null || life.exit === null || life.incarnation !== limit.incarnation || told.has(limit)) continue;
        if (!traits.mayAct || life.foreground || limit.left || limit.knownAt === null) continue;
        // Where it is taken for an ordinary end, its incident is judged.
        if (holderOf(actor.id)?.dead === true || isHandedOver(actor.id) || isOpen(actor.id)) continue;
        // Where no reset was named it is tried again after an hour at the latest.
        const over = Math.max(limit.resetAt + (limit.named ? 0 : 65 * minute), life.exit.at);
        if (now() <= over + allowed(actor) + 3 * minute + excusedSince(limit.since)) continue;
        told.add(limit);
        violated(
          `${actor.id} ended at its limit and was not started again ${((now() - limit.resetAt) / minute).toFixed(1)} min after it (life ${life.incarnation}, ${JSON.stringify(traits)})`,
        );
      }
    },

    findings: (): LimitFindings => ({
      ...{ reached, resumed, putOff },
      ...{ delay: summarise(delays), delayToMinute: summarise(delaysToMinute) },
    }),
  };
}
