import {
  type ActivityKind,
  type EpochMs,
  fleetId,
  type HolderInfo,
  type MonoMs,
  type RouseEvent,
  type StepEvent,
} from "@rouse/contract";
import {
  type Action,
  type ActionOutcome,
  type AgentRecord,
  agentMachine,
  type Context,
  describeMember,
  describeStanding,
  type EndedCall,
  endedCalls,
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
import type { KeptSteps } from "../steps/recall-steps.ts";
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

/** The letter that tells the tasks' room of a turn of an agent. */
export interface AgentTurned {
  readonly kind: "agent-turned";
  readonly before: AgentRecord;
  readonly after: AgentRecord;
}

/** Letters to the room of breakers: calls of tools ended, as was told or seen; an agent begins a new life. */
export type BreakerLetter =
  | {
      readonly kind: "tools-ended";
      readonly agentId: string;
      readonly calls: readonly EndedCall[];
      readonly seen: boolean;
    }
  | { readonly kind: "life-began"; readonly agentId: string };

const wakeUp: Signal = { kind: "wake" };

/** Hosts agents on the engine: how a signal becomes a turn of an agent, and what the turn means for fleet and tasks. */
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
    // A beat that was refused, or is only a repetition, is no sign of life.
    if ((signal.kind === "heartbeat" || signal.kind === "stepped") && record.life.heardAt === moment.now)
      fleet.hear(before.agentId, record.identity.node, moment.now);
    takeNews(fleet.note(standing(record), moment.now), moment);
    const doings = incidents.note(describeMember(record), moment.now);
    if (doings.events.length + doings.actions.length > 0) carry(doings, moment);
    if (isOfConsequence(stepped) || concernsTasks(before, record)) tellTasks(before, record);
    activities.noteTurn(before, record, moment.time);
    tellBreakers(before, record, signal, stepped.reply);
  }

  function tellBreakers(before: AgentRecord, after: AgentRecord, signal: Signal, reply: Reply | null): void {
    const { agentId } = before;
    const post = (letter: BreakerLetter): void => engine.post("breaker", null, letter);
    if (after.life.incarnation !== before.life.incarnation) post({ kind: "life-began", agentId });
    if ((signal.kind !== "stepped" && signal.kind !== "reported") || reply?.status !== "accepted") return;
    const calls = endedCalls(before, signal);
    if (calls.length > 0) post({ kind: "tools-ended", agentId, calls, seen: signal.kind === "reported" });
  }

  function tellTasks(before: AgentRecord, after: AgentRecord): void {
    const turned: AgentTurned = { kind: "agent-turned", before, after };
    engine.post("task", null, turned);
  }

  const standing = (record: AgentRecord): Standing =>
    describeStanding(record, config().policyFor(policySubject(record)));

  /** News of the fleet wakes the agents it concerns, which may bring more news. */
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
    // A beat may have come in since the agent was found due.
    const { wakeAt } = watched.record;
    if (wakeAt === null || wakeAt > moment.now) return engine.file(watched);
    counters.wakes += 1;
    run(watched, wakeUp, moment);
  }

  const { enroll, register } = enrollAgents({ ...parts, tellTasks, submit });

  return {
    takeBeat: beatTaker({ roster, enroll, submit, counts: counters.beats }),
    /**
     * Each step is a turn of its own, as in a replay, so that a repetition in the middle of a batch is seen; all of
     * them are kept as one signal. `life` is the incarnation that speaks, where its token says so. A life that is over
     * is refused; an unknown life begins with its first step.
     */
    takeSteps(agentId: string, events: readonly StepEvent[], life: number | null, moment: Moment): void {
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
    },
    register,
    onActivity: activities.onActivity,
    /** What holders tell and people order. */
    take: submit,
    /** A holder is found. An agent that nobody knew becomes known by it. */
    takeHold(hold: HolderInfo, adopted: boolean, moment: Moment): Reply | null {
      const { agentId, agentType, taskId, incarnation } = hold;
      const watched = roster.find(agentId) ?? enroll(agentId, { agentType, taskId, incarnation }, moment);
      const ago = Math.max(0, moment.time - hold.startedAt);
      return submit(watched, { kind: "held", hold, adopted, ago }, moment);
    },
    /** An action was carried out, or could not be. */
    actionDone(action: Action, outcome: ActionOutcome, moment: Moment): void {
      commits.draft().finished.push(action.key);
      if (action.agentId === fleetId) carry(incidents.handsSaid(action.key, outcome), moment);
      const watched = action.agentId === null ? undefined : roster.find(action.agentId);
      if (watched !== undefined) submit(watched, { kind: "action-outcome", key: action.key, outcome }, moment);
      commits.schedule();
    },
    /** Saves what is done about many agents at once. A decision for all of them is delivered to each. */
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
    /** Judges every agent again now, whenever it would have been due. */
    wakeAll(moment: Moment, whom: (record: AgentRecord) => boolean = () => true): void {
      for (const watched of roster.all()) if (whom(watched.record)) run(watched, wakeUp, moment);
    },
    /** Makes an agent known to the fleet before any agent has its first turn. */
    introduce({ record }: Watched, now: MonoMs): void {
      fleet.note({ ...standing(record), quietSince: null }, now);
      incidents.introduce(describeMember(record), now);
    },
    counters,
    lastSignalId,
  };
}

export type Agents = ReturnType<typeof hostAgents>;

/** Whether tasks must hear of a turn: its agent names another task, or is heard for the first time. */
const concernsTasks = (before: AgentRecord, { task, life }: AgentRecord): boolean =>
  task.id !== before.task.id || life.heard !== before.life.heard;

type ActivityChange = Extract<RouseEvent, { type: "AGENT_ACTIVITY_CHANGED" }>["payload"];
export type ActivityListener = (change: ActivityChange, time: EpochMs) => void;

/** Tells listeners that an agent does something else now. Nothing of it is kept: `rouse ps` reads it off the record. */
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

/** Everything of an activity that a list shows. */
function describe(record: AgentRecord): string {
  const { activity } = record.work;
  if (activity.kind === "RUNNING") return `${kindOf(record)} ${activity.open?.kind} ${activity.open?.name}`;
  return activity.kind === "WAITING" ? `${kindOf(record)} ${activity.for} ${activity.until}` : kindOf(record);
}
