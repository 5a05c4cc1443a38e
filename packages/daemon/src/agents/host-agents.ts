import {
  type ActivityKind,
  type EpochMs,
  fleetId,
  type HolderInfo,
  type MonoMs,
  type RouseEvent,
} from "@rouse/contract";
import {
  type Action,
  type ActionOutcome,
  type AgentRecord,
  agentMachine,
  type Context,
  describeMember,
  describeStanding,
  type FleetDoings,
  type FleetIncidents,
  type FleetNews,
  type FleetWatch,
  isExited,
  type Reply,
  type Signal,
  type Standing,
} from "@rouse/core";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { RecordKeeper } from "../engine/keep-records.ts";
import type { SelfDoubt } from "../engine/self-doubt.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { subscribe } from "../engine/subscribe.ts";
import { keepFleetMatters } from "../fleet/fleet-matters.ts";
import { takeSteps } from "../steps/take-steps.ts";
import { enrollAgents } from "./enroll-agents.ts";
import { type BeatCounts, beatTaker } from "./hear-beats.ts";
import { type AgentTurn, isOfConsequence, keepTurns } from "./keep-turn.ts";
import type { Roster, Watched } from "./roster.ts";

interface AgentParts {
  readonly engine: Engine;
  readonly roster: Roster;
  readonly fleet: FleetWatch;
  readonly incidents: FleetIncidents;
  readonly doubt: SelfDoubt;
  readonly commits: GroupCommit;
  readonly records: RecordKeeper;
  readonly config: () => Config;
  readonly spend: (host: string, moment: Moment) => void;
  readonly lastSignalId: number;
}

export interface Counters {
  beats: BeatCounts;
  turns: number;
  wakes: number;
}

/** What a turn of an agent means for the tasks it has to do with: a letter to their room. */
export interface AgentTurned {
  readonly kind: "agent-turned";
  readonly before: AgentRecord;
  readonly after: AgentRecord;
}

const wakeUp: Signal = { kind: "wake" };

/** The agents on the engine: every way a signal becomes a turn of one, and what a turn means for the fleet and for tasks. */
export function hostAgents(parts: AgentParts) {
  const { engine, roster, fleet, incidents, doubt, commits, config } = parts;
  const activities = tellActivity();
  const counters: Counters = { beats: { accepted: 0, duplicate: 0, stale: 0, rejected: 0 }, turns: 0, wakes: 0 };
  const { keepTurn, keepSignal, lastSignalId } = keepTurns(parts);
  const fleetMatters = keepFleetMatters(parts);
  const { carry } = fleetMatters;
  const { run, submit } = engine.host<Watched, AgentRecord, Signal, Context, Reply | null>({
    machine: agentMachine,
    find: roster.find,
    contextOf(watched, signal, { now }) {
      const policy = config().policyFor(policySubject(watched.record, signal));
      return { now, policy, doubt: doubt.about(watched.record, now) };
    },
    keep: keepTurn,
    after,
    wake,
  });

  function after({ kept: { record }, before, signal, stepped, moment }: AgentTurn): void {
    counters.turns += 1;
    // A beat that was refused, or is only a repetition, shows nobody.
    if ((signal.kind === "heartbeat" || signal.kind === "stepped") && record.life.heardAt === moment.now)
      fleet.hear(before.agentId, record.identity.node, moment.now);
    takeNews(fleet.note(standing(record), moment.now), moment);
    const doings = incidents.note(describeMember(record), moment.now);
    if (doings.events.length + doings.actions.length > 0) carry(doings, moment);
    if (isOfConsequence(stepped) || concernsTasks(before, record)) tellTasks(before, record);
    activities.noteTurn(before, record, moment.time);
  }

  function tellTasks(before: AgentRecord, after: AgentRecord): void {
    const turned: AgentTurned = { kind: "agent-turned", before, after };
    engine.post("task", null, turned);
  }

  const standing = (record: AgentRecord): Standing =>
    describeStanding(record, config().policyFor(policySubject(record)));

  /** What changed around an agent wakes those it concerns, which may change more. */
  function takeNews(news: FleetNews, moment: Moment): void {
    if (news.events.length > 0) engine.saveEvents(news.events, moment.time, null);
    for (const hold of news.holds)
      carry(
        hold.kind === "began"
          ? incidents.holdBegan(hold.scope, hold.agents, hold.of, moment.now)
          : incidents.holdEnded(hold.scope, moment.now),
        moment,
      );
    for (const agentId of news.wake) engine.post("agent", agentId, wakeUp);
  }

  function wake(watched: Watched, moment: Moment): void {
    // A beat may have come in since it was found due.
    const { wakeAt } = watched.record;
    if (wakeAt === null || wakeAt > moment.now) return engine.file(watched);
    counters.wakes += 1;
    run(watched, wakeUp, moment);
  }

  const { enroll, register } = enrollAgents({ ...parts, tellTasks, submit });

  return {
    takeBeat: beatTaker({ roster, enroll, submit, counts: counters.beats }),
    takeSteps: takeSteps({ engine, roster, commits, enroll, register, keepSignal, run }),
    register,
    onActivity: activities.onActivity,
    /** What holders tell and people order. */
    take: submit,
    /** A holder is there: for an agent nobody knew, this is how it becomes known. */
    takeHold(hold: HolderInfo, adopted: boolean, moment: Moment): Reply | null {
      const { agentId, agentType, taskId, incarnation } = hold;
      const watched = roster.find(agentId) ?? enroll(agentId, { agentType, taskId, incarnation }, moment);
      const ago = Math.max(0, moment.time - hold.startedAt);
      return submit(watched, { kind: "held", hold, adopted, ago }, moment);
    },
    /** The hands report back. */
    actionDone(action: Action, outcome: ActionOutcome, moment: Moment): void {
      commits.draft().finished.push(action.key);
      if (action.agentId === fleetId) carry(incidents.handsSaid(action.key, outcome), moment);
      const watched = action.agentId === null ? undefined : roster.find(action.agentId);
      if (watched !== undefined) submit(watched, { kind: "action-outcome", key: action.key, outcome }, moment);
      commits.schedule();
    },
    /** What is done about many at once. A decision for all of them is each one's. */
    takeFleet(doings: FleetDoings, moment: Moment): void {
      carry(doings, moment);
      const { decided } = doings;
      if (decided !== null)
        for (const agentId of decided.agents)
          engine.post("agent", agentId, { kind: "decided-for-all", decision: decided.decision, actor: decided.actor });
      engine.deliver(moment);
      commits.schedule();
    },
    saveFleet: fleetMatters.save,
    takeNews,
    /** Everybody is looked at again, whenever their time would have been. */
    wakeAll(moment: Moment, whom: (record: AgentRecord) => boolean = () => true): void {
      for (const watched of roster.all()) if (whom(watched.record)) run(watched, wakeUp, moment);
    },
    /** Before any agent has had its first turn, the fleet knows who is in it. */
    introduce({ record }: Watched, now: MonoMs): void {
      fleet.note({ ...standing(record), quietSince: null }, now);
      incidents.introduce(describeMember(record), now);
    },
    counters,
    lastSignalId,
  };
}

export type Agents = ReturnType<typeof hostAgents>;

/** Whoever names another task, or is heard for the first time, may hold one. */
const concernsTasks = (before: AgentRecord, { task, life }: AgentRecord): boolean =>
  task.id !== before.task.id || life.heard !== before.life.heard;

type ActivityChange = Extract<RouseEvent, { type: "AGENT_ACTIVITY_CHANGED" }>["payload"];
export type ActivityListener = (change: ActivityChange, time: EpochMs) => void;

/** Tells whoever listens that an agent does something else now. It is no fact that is kept: it is read off the record, as `rouse ps` does. */
function tellActivity() {
  const listeners = new Set<ActivityListener>();
  return {
    onActivity: (listener: ActivityListener) => subscribe(listeners, listener),
    /** Called after every turn, so it looks only when somebody listens. */
    noteTurn(before: AgentRecord, after: AgentRecord, time: EpochMs): void {
      if (listeners.size === 0 || before === after || describe(before) === describe(after)) return;
      const change = { agentId: after.agentId, from: kindOf(before), to: kindOf(after) };
      for (const listener of listeners) listener(change, time);
    },
  };
}

const kindOf = (record: AgentRecord): ActivityKind => (isExited(record) ? "EXITED" : record.work.activity.kind);

/** Everything of an activity that is shown in a list. */
function describe(record: AgentRecord): string {
  const { activity } = record.work;
  if (activity.kind === "RUNNING") return `${kindOf(record)} ${activity.open?.kind} ${activity.open?.name}`;
  return activity.kind === "WAITING" ? `${kindOf(record)} ${activity.for} ${activity.until}` : kindOf(record);
}
