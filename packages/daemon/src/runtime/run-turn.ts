import type { EpochMs, MonoMs } from "@rouse/contract";
import {
  type AgentRecord,
  type FleetDoings,
  type FleetIncidents,
  type FleetNews,
  type FleetWatch,
  type Signal,
  type Standing,
  supervise,
  type Turn,
} from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import { describeStanding } from "./describe-standing.ts";
import type { DraftFiller } from "./fill-draft.ts";
import { standsSo } from "./fleet-matters.ts";
import { isOfConsequence, type TurnKeeper } from "./keep-turn.ts";
import { policySubject } from "./policy-subject.ts";
import type { Roster, Watched } from "./roster.ts";
import type { SelfDoubt } from "./self-doubt.ts";
import type { Moment } from "./steady-clock.ts";
import type { WakeWheel } from "./wake-wheel.ts";

interface RunningParts {
  readonly roster: Roster;
  readonly wheel: WakeWheel<Watched>;
  readonly fleet: FleetWatch;
  readonly incidents: FleetIncidents;
  readonly doubt: SelfDoubt;
  readonly config: () => Config;
  readonly keepTurn: TurnKeeper["keepTurn"];
  readonly saveEvents: DraftFiller["saveEvents"];
  readonly carry: (doings: FleetDoings, moment: Moment) => void;
  readonly afterTurn: AfterTurn;
  readonly noteActivity: (before: AgentRecord, after: AgentRecord, time: EpochMs) => void;
  readonly counters: { turns: number; wakes: number };
}

/** What a turn changed about an agent concerns its tasks as well. */
export type AfterTurn = (before: AgentRecord, after: AgentRecord, moment: Moment) => void;

/** One turn of one agent: core judges, what comes out is kept for the next commit, and wheel, fleet and tasks are told. */
export function runTurns(parts: RunningParts) {
  const { roster, wheel, fleet, incidents, doubt, config, keepTurn, saveEvents, carry, afterTurn, noteActivity } =
    parts;
  const { counters } = parts;
  const toWake: string[] = [];

  function run(watched: Watched, signal: Signal, moment: Moment, text?: string): Turn {
    const before = watched.record;
    const policy = config().policyFor(policySubject(before, signal));
    const turn = supervise(before, signal, { now: moment.now, policy, doubt: doubt.about(before, moment.now) });
    counters.turns += 1;
    keepTurn(watched, signal, turn, moment, text, policy.id);
    watched.record = turn.record;
    wheel.file(watched);
    // A beat that was refused, or is only a repetition, shows nobody.
    if ((signal.kind === "heartbeat" || signal.kind === "stepped") && turn.record.life.heardAt === moment.now)
      fleet.hear(before.agentId, turn.record.identity.node, moment.now);
    takeNews(fleet.note(standing(turn.record), moment.now), moment);
    carry(incidents.note(standsSo(turn.record), moment.now), moment);
    if (isOfConsequence(turn) || concernsTasks(before, turn.record)) afterTurn(before, turn.record, moment);
    noteActivity(before, turn.record, moment.time);
    return turn;
  }

  const standing = (record: AgentRecord): Standing =>
    describeStanding(record, config().policyFor(policySubject(record)));

  /** What changed around an agent wakes those it concerns, which may change more; each is looked at once per round. */
  function takeNews(news: FleetNews, moment: Moment): void {
    if (news.events.length > 0) saveEvents(news.events, moment.time, null);
    for (const hold of news.holds)
      carry(
        hold.kind === "began"
          ? incidents.holdBegan(hold.scope, hold.agents, hold.of, moment.now)
          : incidents.holdEnded(hold.scope, moment.now),
        moment,
      );
    for (const agentId of news.wake) toWake.push(agentId);
  }

  function wakeConcerned(moment: Moment): void {
    for (let agentId = toWake.pop(); agentId !== undefined; agentId = toWake.pop()) {
      const watched = roster.find(agentId);
      if (watched !== undefined) wake(watched, moment);
    }
  }

  function wake(watched: Watched, moment: Moment): void {
    counters.wakes += 1;
    run(watched, { kind: "wake" }, moment);
  }

  return {
    run,
    takeNews,
    wakeConcerned,
    wake,
    /** Before any agent has had its first turn, the fleet knows who is in it. */
    introduce({ record }: Watched, now: MonoMs): void {
      fleet.note({ ...standing(record), quietSince: null }, now);
      incidents.introduce(standsSo(record), now);
    },
  };
}

export type TurnRunner = ReturnType<typeof runTurns>;

/** Whoever names another task, or is heard for the first time, may hold one. */
const concernsTasks = (before: AgentRecord, { task: { id: taskId }, life: { heard } }: AgentRecord): boolean =>
  taskId !== before.task.id || heard !== before.life.heard;
