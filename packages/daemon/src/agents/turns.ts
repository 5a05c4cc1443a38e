import { type EpochMs, fleetId, type Hold } from "@rouse/contract";
import type {
  Action,
  ActionOutcome,
  AgentRecord,
  FleetDoings,
  FleetIncidents,
  FleetWatch,
  KillBudgetKeeper,
  Reply,
  Signal,
} from "@rouse/core";
import type { AuditTrail } from "../audit/audit-trail.ts";
import type { Config } from "../config/read-config.ts";
import { fillDraft } from "../engine/fill-draft.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { RecordKeeper } from "../engine/keep-records.ts";
import type { SelfDoubt } from "../engine/self-doubt.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { WakeWheel } from "../engine/wake-wheel.ts";
import { keepFleetMatters } from "../fleet/fleet-matters.ts";
import { takeSteps } from "../steps/take-steps.ts";
import { enrollAgents } from "./enroll-agents.ts";
import { keepTurns } from "./keep-turn.ts";
import type { Roster, Watched } from "./roster.ts";
import { type AfterTurn, runTurns } from "./run-turn.ts";
import { type BeatCounts, takeBeats } from "./take-beats.ts";

export interface TurnParts {
  readonly roster: Roster;
  readonly wheel: WakeWheel<Watched>;
  readonly fleet: FleetWatch;
  readonly incidents: FleetIncidents;
  readonly doubt: SelfDoubt;
  readonly commits: GroupCommit;
  readonly records: RecordKeeper;
  readonly config: () => Config;
  readonly budget: KillBudgetKeeper;
  readonly audit: AuditTrail;
  readonly afterTurn: AfterTurn;
  readonly noteActivity: (before: AgentRecord, after: AgentRecord, time: EpochMs) => void;
  readonly lastSignalId: number;
  readonly lastEventId: number;
}

export interface Counters {
  beats: BeatCounts;
  turns: number;
  wakes: number;
  events: number;
}

/**
 * Every way a signal becomes a turn: it is given to core, and what comes out is kept for the next commit. Everything here is synchronous; the caller waits
 * for the commit before it answers anybody.
 */
export function createTurns(parts: TurnParts) {
  const { roster, commits } = parts;
  const counters: Counters = {
    beats: { accepted: 0, duplicate: 0, stale: 0, rejected: 0 },
    turns: 0,
    wakes: 0,
    events: 0,
  };
  const { saveEvents, addToTrail, addLines, intend } = fillDraft({ ...parts, counters });
  const { keepTurn, keepSignal, lastSignalId } = keepTurns({ ...parts, saveEvents, intend });
  const fleetMatters = keepFleetMatters({ ...parts, saveEvents, intend });
  const { carry } = fleetMatters;
  const { run, wake, wakeConcerned, takeNews, introduce } = runTurns({
    ...parts,
    keepTurn,
    saveEvents,
    carry,
    counters,
  });
  const { enroll, register } = enrollAgents({ ...parts, saveEvents, run });

  /** What holders tell and people order. */
  function take(watched: Watched, signal: Signal, moment: Moment): Reply | null {
    const { reply } = run(watched, signal, moment);
    wakeConcerned(moment);
    commits.schedule();
    return reply;
  }

  return {
    takeBeat: takeBeats({ roster, enroll, run, wakeConcerned, counts: counters.beats }),
    takeSteps: takeSteps({ roster, commits, enroll, register, keepSignal, run, wakeConcerned }),
    register,
    take,
    /** A holder is there: for an agent nobody knew, this is how it becomes known. */
    takeHold(hold: Hold, adopted: boolean, moment: Moment): Reply | null {
      const { agentId, agentType, taskId, incarnation } = hold;
      const watched = roster.find(agentId) ?? enroll(agentId, { agentType, taskId, incarnation }, moment);
      const ago = Math.max(0, moment.time - hold.startedAt);
      return take(watched, { kind: "held", hold, adopted, ago }, moment);
    },
    /** The hands report back. */
    actionDone(action: Action, outcome: ActionOutcome, moment: Moment): void {
      commits.draft().finished.push(action.key);
      if (action.agentId === fleetId) carry(parts.incidents.handsSaid(action.key, outcome), moment);
      const watched = action.agentId === null ? undefined : roster.find(action.agentId);
      if (watched !== undefined) run(watched, { kind: "action-outcome", key: action.key, outcome }, moment);
      commits.schedule();
    },
    /** What is done about many at once. A decision for all of them is each one's. */
    takeFleet(doings: FleetDoings, moment: Moment): void {
      carry(doings, moment);
      const { agents, ...decided } = doings.decided ?? { agents: [] };
      for (const agentId of agents) {
        const watched = roster.find(agentId);
        if (watched !== undefined && "decision" in decided)
          run(watched, { kind: "decided-for-all", ...decided }, moment);
      }
      wakeConcerned(moment);
      commits.schedule();
    },
    saveFleet: fleetMatters.save,
    wake,
    wakeConcerned,
    takeNews,
    introduce,
    saveEvents,
    addToTrail,
    addLines,
    intend,
    counters,
    lastSignalId,
  };
}

export type Turns = ReturnType<typeof createTurns>;
