import type { StepEvent } from "@rouse/contract";
import type { Reply, Signal } from "@rouse/core";
import type { AgentEnroller } from "../agents/enroll-agents.ts";
import type { TurnKeeper } from "../agents/keep-turn.ts";
import type { Roster, Watched } from "../agents/roster.ts";
import type { Engine, Host } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { KeptSteps } from "./recall-steps.ts";

interface TakingParts {
  readonly roster: Roster;
  readonly commits: GroupCommit;
  readonly enroll: AgentEnroller["enroll"];
  readonly register: AgentEnroller["register"];
  readonly keepSignal: TurnKeeper["keepSignal"];
  readonly engine: Pick<Engine, "deliver">;
  readonly run: Host<Watched, Signal, Reply | null>["run"];
}

/** `life`: the incarnation that speaks, where its token says so. */
type TakeSteps = (agentId: string, events: readonly StepEvent[], life: number | null, moment: Moment) => void;

/**
 * Each event is a turn of its own, as in a replay, so that a repetition in the middle of a batch is seen. All are kept
 * as one signal. A life that is over is refused; an unknown life begins with its first step.
 */
export function takeSteps(parts: TakingParts): TakeSteps {
  const { engine, roster, commits, enroll, register, keepSignal, run } = parts;
  return (agentId, events, life, moment) => {
    roster.refuseFormerLife(agentId, life);
    const known = roster.find(agentId);
    const present = known?.record.life.incarnation ?? 0;
    const watched = known ?? enroll(agentId, { incarnation: life ?? 1 }, moment);
    if (known !== undefined && life !== null && life > present) register({ agentId, incarnation: life }, moment);
    const kept: KeptSteps = { incarnation: watched.record.life.incarnation, events };
    keepSignal(watched, "steps", JSON.stringify(kept), moment);
    for (const event of events) run(watched, { kind: "stepped", events: [event] }, moment);
    engine.deliver(moment);
    commits.schedule();
  };
}
