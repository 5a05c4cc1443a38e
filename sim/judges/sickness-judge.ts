import type { Policy, RouseEvent } from "@rouse/contract";
import type { Eye } from "../actors/eyes.ts";
import type { HeldActor } from "../actors/held-actor.ts";
import type { HeldSickness } from "../actors/held-life.ts";
import type { OrchestratorTemper } from "../actors/orchestrator.ts";
import {
  detectedWithin,
  isAbsenceOnly,
  nameSickness,
  type SicknessName,
  sicknessNames,
} from "../actors/sickness-names.ts";
import type { Holder } from "../world/holders.ts";
import { mean, summarise } from "./summarise.ts";

const second = 1000;
const minute = 60 * second;

interface Parts {
  readonly now: () => number;
  readonly violated: (text: string) => void;
  readonly policyOf: (agentId: string) => Policy;
  readonly excusedSince: (at: number) => number;
  readonly holderOf: (agentId: string) => Holder | undefined;
  readonly temper: OrchestratorTemper;
  /** This way of looking at its processes, or every one, worked all the time since then. */
  readonly wasSeenSince: (agentId: string, since: number, eye?: Eye) => boolean;
  readonly isHandedOver: (agentId: string) => boolean;
}

/** One time that one agent was ill, or ended. */
interface Case {
  readonly actor: HeldActor;
  readonly incarnation: number;
  readonly name: SicknessName;
  readonly sickness: HeldSickness | null;
  readonly since: number;
  /** How long it may take until somebody has to know, as it was at the beginning. */
  readonly within: number;
  readonly seen: Partial<Record<"nudge" | "question" | "stop", number>>;
  /** Somebody was asked, told or took it over; before it fell ill, too. */
  known: boolean;
  /** Nudges that could not be given to it: each is tried again, up to as many as it gets. */
  undelivered: number;
  /** Something but the evidence keeps it from being stopped: a person, the policy, a budget. */
  kept: boolean;
  over: { readonly at: number; readonly how: "came-round" | "replaced" | "by-a-person" } | null;
  late: boolean;
}

interface Times {
  readonly count: number;
  readonly mean: number;
  readonly p95: number;
}

export interface SicknessFindings {
  readonly cases: number;
  /** From the beginning of the matter, in seconds. */
  readonly nudge: Times;
  readonly question: Times;
  readonly stop: Times;
  readonly recovery: Times;
  /** Of those that are over: how many came round or were replaced without a person. */
  readonly recoveredShare: number | null;
  /** Rouse stopped it by its own decision; of whoever shows nothing but absence that would be a broken promise. */
  readonly stoppedByRouse: number;
}

/** The kill gate lets these pass without anybody's answer. */
const stoppedAtOnce: ReadonlySet<SicknessName> = new Set<SicknessName>([
  "idle, its owner's rule",
  "timer falls silent, the same",
  "failing",
]);

/** These are stopped when the ladder has been climbed and nobody has answered. */
const stoppedUnanswered: ReadonlySet<SicknessName> = new Set<SicknessName>([
  "request hangs",
  "tool hangs",
  "loop in a stream",
]);

/** Follows each sickness from its beginning: somebody is asked in time, who may be stopped is, and who only is silent never. */
export function judgeSicknesses(parts: Parts) {
  const { now, violated, policyOf, excusedSince, holderOf, temper, wasSeenSince, isHandedOver } = parts;
  const open = new Map<string, Case>();
  const all: Case[] = [];
  const stopsByRouse = new Map<SicknessName, number>();
  /** Agents about which a question is open. */
  const asked = new Set<string>();

  function begin(actor: HeldActor, name: SicknessName): void {
    const { sickness, incarnation } = actor.life;
    const one: Case = {
      actor,
      incarnation,
      name,
      sickness,
      since: now(),
      within: detectedWithin(actor, policyOf(actor.id)),
      seen: {},
      known: asked.has(actor.id) || isHandedOver(actor.id),
      undelivered: 0,
      kept: false,
      over: null,
      late: false,
    };
    open.set(actor.id, one);
    all.push(one);
  }

  function end(one: Case): void {
    const { life } = one.actor;
    const how =
      life.incarnation === one.incarnation ? "came-round" : life.begunBy === "rouse" ? "replaced" : "by-a-person";
    one.over = { at: now(), how };
    if (open.get(one.actor.id) === one) open.delete(one.actor.id);
  }

  const isOver = ({ actor, incarnation, sickness }: Case): boolean =>
    actor.life.incarnation !== incarnation || (actor.isAlive() && actor.life.sickness !== sickness);

  function checkTime(one: Case): void {
    const { actor, since, name, seen } = one;
    const policy = policyOf(actor.id);
    const holder = holderOf(actor.id);
    if (one.late || !actor.isAlive() || policy.mode === "observe" || holder?.dead === true) return;
    const mute = Math.max(0, (holder?.muteUntil ?? 0) - since);
    const nudges = policy.nudge.max + Math.min(one.undelivered, policy.nudge.max);
    const climbed = one.within + nudges * policy.nudge.interval + 10 * minute;
    const excused = excusedSince(since) + mute;
    const lasts = now() - since;
    const tell = (what: string): void => {
      one.late = true;
      violated(
        `${actor.id} (${name}) for ${(lasts / minute).toFixed(1)} min and ${what} (life ${one.incarnation}, ${JSON.stringify(actor.traits)}, ${JSON.stringify(one.sickness)}, longest quiet ${(actor.longestQuiet / minute).toFixed(0)} min)`,
      );
    };
    // Silence of one whose processes nobody can look at is a warning and no more, and somebody is asked about it when it has stood for long.
    const isBlind = !wasSeenSince(actor.id, since, "processes");
    const told = climbed + (isBlind ? policy.escalation.unchangedAfter : 0);
    one.known ||= isHandedOver(actor.id);
    if (lasts > told + excused && !one.known && seen.stop === undefined) return tell("nobody was asked about it");
    if (isBlind) return;
    if (one.kept || seen.stop !== undefined || !actor.traits.mayAct || actor.attached() > 0) return;
    // A question that is open, or a person who has it in hand, is waited for; and what could not be seen is no evidence.
    if (!wasSeenSince(actor.id, since) || isHandedOver(actor.id)) return;
    if (name === "timer falls silent, the same" && !actor.life.timerKnown) return;
    // Whose processes compute is not idle, and nothing confirms that its call hangs.
    if (one.sickness?.busy && name !== "failing") return;
    if (stoppedAtOnce.has(name) && !asked.has(actor.id) && lasts > one.within + 20 * minute + excused)
      return tell("was not stopped");
    const unanswered = climbed + 2 * policy.escalation.timeout + 15 * minute;
    if (stoppedUnanswered.has(name) && temper === "never" && lasts > unanswered + excused)
      tell("was not stopped although nobody answered");
  }

  function note(event: RouseEvent): void {
    const agentId = "agentId" in event.payload ? event.payload.agentId : null;
    if (typeof agentId !== "string") return;
    if (event.type === "ESCALATION_TRIGGERED") asked.add(agentId);
    if (event.type === "ESCALATION_DECIDED" || event.type === "INCIDENT_CLOSED") asked.delete(agentId);
    const one = open.get(agentId);
    if (one === undefined || isOver(one)) return;
    const at = now() - one.since;
    switch (event.type) {
      case "NUDGE_SENT":
        one.seen.nudge ??= at;
        return;
      case "NUDGE_NOT_SENT":
        one.undelivered += 1;
        return;
      case "ESCALATION_TRIGGERED":
        one.seen.question ??= at;
        one.known = true;
        return;
      case "ESCALATION_DECIDED":
        one.known = true;
        one.kept = true;
        return;
      case "INCIDENT_CLOSED":
        if (event.payload.ending === "handed-to-a-person") one.known = true;
        return;
      case "TERMINATION_REFUSED":
        if (event.payload.because !== "one-kind-of-evidence") one.kept = true;
        return;
      case "TERMINATION_ORDERED":
        if (event.payload.because !== "ordered") one.seen.stop ??= at;
        return;
    }
  }

  const timesOf = (values: readonly (number | undefined)[]): Times => {
    const seconds = values.filter((value) => value !== undefined).map((value) => value / second);
    const { count, p95 } = summarise(seconds);
    return { count, mean: mean(seconds), p95 };
  };

  function findingsOf(name: SicknessName): SicknessFindings {
    const cases = all.filter((one) => one.name === name);
    const over = cases.filter((one) => one.over !== null);
    const recovered = over.filter((one) => one.over?.how !== "by-a-person");
    return {
      cases: cases.length,
      nudge: timesOf(cases.map(({ seen }) => seen.nudge)),
      question: timesOf(cases.map(({ seen }) => seen.question)),
      stop: timesOf(cases.map(({ seen }) => seen.stop)),
      recovery: timesOf(recovered.map((one) => (one.over === null ? undefined : one.over.at - one.since))),
      recoveredShare: over.length === 0 ? null : recovered.length / over.length,
      stoppedByRouse: stopsByRouse.get(name) ?? 0,
    };
  }

  return {
    note,
    fellIll(actor: HeldActor): void {
      if (actor.life.sickness !== null) begin(actor, nameSickness(actor, actor.life.sickness));
    },
    died: (actor: HeldActor): void => begin(actor, actor.chronic === "crash" ? "crash loop" : "crash"),
    /** The first signal of a stop is about to be sent to one that is ill. `decided`: somebody decided so. */
    stopped(actor: HeldActor, key: string, decided: boolean): void {
      const { sickness } = actor.life;
      if (sickness === null || decided) return;
      const name = nameSickness(actor, sickness);
      stopsByRouse.set(name, (stopsByRouse.get(name) ?? 0) + 1);
      if (isAbsenceOnly(actor, sickness))
        violated(`${key}: ${actor.id} was stopped and nothing but its silence spoke against it`);
    },
    lookForTheForgotten(): void {
      for (const one of open.values()) {
        if (isOver(one)) end(one);
        else checkTime(one);
      }
    },
    findings: (): Readonly<Record<SicknessName, SicknessFindings>> =>
      Object.fromEntries(sicknessNames.map((name) => [name, findingsOf(name)])) as Record<
        SicknessName,
        SicknessFindings
      >,
  };
}

export type SicknessJudge = ReturnType<typeof judgeSicknesses>;
