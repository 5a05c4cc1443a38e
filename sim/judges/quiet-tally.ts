import type { HealthState, Policy, RouseEvent } from "@rouse/contract";
import { kindsOfEvidence } from "../../packages/core/src/decide/evidence.ts";
import { noDoubt } from "../../packages/core/src/doubt.ts";
import type { AgentRecord } from "../../packages/core/src/record.ts";
import type { HeldActor } from "../actors/held-actor.ts";
import { type QuietName, quietNames } from "../actors/quiet-kinds.ts";

/** How far the ladder came with somebody who was well. */
export const rungs = ["nothing", "a warning", "called ill", "nudged", "asked about", "at the gate", "stopped"] as const;
export type ReachedRung = (typeof rungs)[number];

export interface QuietFindings {
  readonly agents: number;
  readonly agentHours: number;
  /** Of them, well and quiet. */
  readonly quietHours: number;
  readonly calledIll: number;
  readonly nudged: number;
  readonly undelivered: number;
  readonly askedAbout: number;
  /** The gate was asked, and refused. */
  readonly refused: number;
  readonly stoppedByRouse: number;
  /** By somebody who was asked and decided wrongly, or who ordered it. */
  readonly stoppedByOthers: number;
  readonly furthest: ReachedRung;
  /** The most kinds of evidence that stood against one of them at the same time; it takes two for a stop. */
  readonly evidence: readonly string[];
}

type Counted = { -readonly [K in Exclude<keyof QuietFindings, "agents">]: QuietFindings[K] };

interface Parts {
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly recordOf: (agentId: string) => AgentRecord | null;
  readonly policyOf: (agentId: string) => Policy;
  /** The monitor's own timeline. */
  readonly steady: () => number;
}

/** How close each kind of quiet agent came to being stopped while it was well. */
export function tallyQuiet({ actors, recordOf, policyOf, steady }: Parts) {
  const states = new Map<string, HealthState>();
  const counts = new Map<QuietName, Counted>(quietNames.map((name) => [name, nothingYet()]));

  /** Only agents of a quiet kind that are well count. */
  function countsOf(agentId: string): Counted | null {
    const actor = actors.get(agentId);
    const { quiet } = actor?.traits ?? {};
    return actor?.isWell() && quiet != null ? (counts.get(quiet) ?? null) : null;
  }

  function reach(of: Counted, rung: ReachedRung): void {
    if (rungs.indexOf(rung) > rungs.indexOf(of.furthest)) of.furthest = rung;
  }

  function note({ type, payload }: RouseEvent): void {
    if (!("agentId" in payload) || typeof payload.agentId !== "string") return;
    if (type === "HEALTH_STATE_CHANGED") states.set(payload.agentId, payload.to);
    const of = countsOf(payload.agentId);
    if (of === null) return;
    switch (type) {
      case "HEALTH_STATE_CHANGED":
        if (payload.to === "DEGRADED") reach(of, "a warning");
        if (payload.to !== "STUCK" && payload.to !== "UNRESPONSIVE" && payload.to !== "FAILING") return;
        of.calledIll += 1;
        return reach(of, "called ill");
      case "NUDGE_SENT":
        of.nudged += 1;
        return reach(of, "nudged");
      case "NUDGE_NOT_SENT":
        of.undelivered += 1;
        return;
      case "ESCALATION_TRIGGERED":
        of.askedAbout += 1;
        return reach(of, "asked about");
      case "TERMINATION_REFUSED":
        of.refused += 1;
        return reach(of, "at the gate");
    }
  }

  /** Called once a minute. No evidence stands against an agent that is called healthy. */
  function look(): void {
    for (const actor of actors.values()) {
      const { quiet } = actor.traits;
      const of = quiet === null ? undefined : counts.get(quiet);
      if (of === undefined || !actor.isAlive()) continue;
      of.agentHours += 1 / 60;
      if (!actor.isWell()) continue;
      if (actor.life.mode.kind === "quiet") of.quietHours += 1 / 60;
      if ((states.get(actor.id) ?? "HEALTHY") !== "HEALTHY") weigh(of, actor);
    }
  }

  /** Findings from before the agent got well are no evidence against a well agent. */
  function weigh(of: Counted, { id, life }: HeldActor): void {
    const record = life.cure === null ? recordOf(id) : null;
    if (record === null || record.life.incarnation !== life.incarnation) return;
    const kinds = kindsOfEvidence(record, { now: steady(), policy: policyOf(id), doubt: noDoubt });
    if (kinds.size > of.evidence.length) of.evidence = [...kinds].sort();
  }

  return {
    note,
    look,
    stopped(actor: HeldActor, by: "rouse" | "others"): void {
      const of = countsOf(actor.id);
      if (of === null) return;
      if (by === "others") of.stoppedByOthers += 1;
      else {
        of.stoppedByRouse += 1;
        reach(of, "stopped");
      }
    },
    findings: (): Readonly<Record<QuietName, QuietFindings>> =>
      Object.fromEntries(
        [...counts].map(([name, of]) => [
          name,
          {
            ...of,
            agents: [...actors.values()].filter(({ traits }) => traits.quiet === name).length,
            agentHours: Math.round(of.agentHours * 10) / 10,
            quietHours: Math.round(of.quietHours * 10) / 10,
          },
        ]),
      ) as Record<QuietName, QuietFindings>,
  };
}

const nothingYet = (): Counted => ({
  agentHours: 0,
  quietHours: 0,
  calledIll: 0,
  nudged: 0,
  undelivered: 0,
  askedAbout: 0,
  refused: 0,
  stoppedByRouse: 0,
  stoppedByOthers: 0,
  furthest: "nothing",
  evidence: [],
});

export type QuietTally = ReturnType<typeof tallyQuiet>;
