import { Fault, type StepEvent } from "@rouse/contract";
import type { AgentEnroller } from "./enroll-agents.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { TurnKeeper } from "./keep-turn.ts";
import type { KeptSteps } from "./recall-steps.ts";
import type { Roster } from "./roster.ts";
import type { TurnRunner } from "./run-turn.ts";
import type { Moment } from "./steady-clock.ts";

interface TakingParts {
  readonly roster: Roster;
  readonly commits: GroupCommit;
  readonly enroll: AgentEnroller["enroll"];
  readonly register: AgentEnroller["register"];
  readonly keepSignal: TurnKeeper["keepSignal"];
  readonly run: TurnRunner["run"];
  readonly wakeConcerned: TurnRunner["wakeConcerned"];
}

/** `life`: the incarnation that speaks, where its token says so. */
export type TakeSteps = (agentId: string, events: readonly StepEvent[], life: number | null, moment: Moment) => void;

/**
 * Each event is a turn of its own, as in a replay: what repeated in the middle of a batch is seen although the end of it is different. They are kept as
 * one signal. A life that is over has no say any more; one that is not known yet begins with its first step.
 */
export function takeSteps(parts: TakingParts): TakeSteps {
  const { roster, commits, enroll, register, keepSignal, run, wakeConcerned } = parts;
  return (agentId, events, life, moment) => {
    const known = roster.find(agentId);
    const present = known?.record.life.incarnation ?? 0;
    if (life !== null && life < present)
      throw new Fault("forbidden", `incarnation ${life} of ${agentId} is over; the current one is ${present}`);
    const watched = known ?? enroll(agentId, { incarnation: life ?? 1 }, moment);
    if (known !== undefined && life !== null && life > present) register({ agentId, incarnation: life }, moment);
    const kept: KeptSteps = { incarnation: watched.record.life.incarnation, events };
    keepSignal(watched, "steps", JSON.stringify(kept), moment);
    for (const event of events) run(watched, { kind: "stepped", events: [event] }, moment);
    wakeConcerned(moment);
    commits.schedule();
  };
}
