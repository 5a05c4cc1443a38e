import type {
  AgentAnswer,
  AlertSeverity,
  BeatPromise,
  DurationMs,
  EvidenceClass,
  FindingKind,
  FindingLevel,
  HealthReason,
  HealthState,
  MonoMs,
  Restraint,
  StopRefusal,
} from "@rouse/contract";
import { type Activity, type BeatLedger, type Facts, noBeats, noFacts, type WorkClock } from "./facts.ts";
import type {
  ContainLife,
  HandedOver,
  Incident,
  NudgeLife,
  NudgeSpent,
  Reached,
  Recovered,
  RecoveryAttempt,
  RestartLife,
  StopLife,
} from "./incident.ts";
import type { StepTrail } from "./steps/step.ts";
import type { Limit, TerminalFacts } from "./terminal-facts.ts";

export interface Finding {
  readonly kind: FindingKind;
  readonly level: FindingLevel;
  readonly confidence: number;
  readonly class: EvidenceClass;
  /** Made from numbers and fixed words only, never from text an agent sent. */
  readonly text: string;
  readonly evidence: Readonly<Record<string, number | string>>;
  readonly since: MonoMs;
  readonly restrainedBy?: Restraint;
}

export type AlertLife = {
  readonly key: string;
  readonly cause: HealthReason;
  readonly severity: AlertSeverity;
  readonly raisedAt: MonoMs;
  readonly state: "queued" | "delivered";
  /** Its cause came back soon after it was gone: it stays open until the agent has been well for a while. */
  readonly again?: true;
  /** Causes that were told since the agent was last well for a while, in their order, this one included; only this one when absent. */
  readonly told?: readonly HealthReason[];
};

/** A request to check in after the monitor was blind: asked once per gap, answered by the next beat. */
type CheckIn = { readonly gap: number; readonly state: "asked" | "answered" };

/** How often it gave which answer since it was last nudged: not every one of many is told. */
export interface AnswersHeard extends Readonly<Record<AgentAnswer["kind"], number>> {
  /** Id of that nudge. */
  readonly since: string | null;
}

interface Counts {
  readonly incidents: number;
  readonly nudges: number;
  readonly escalations: number;
  readonly stops: number;
  readonly starts: number;
  /** Nudges, questions and stops of agents that were removed: its numbers go on from theirs, and none of them was its own. */
  readonly ofOthers?: number;
}

/** What was done about it: nudges, questions and stops. Starting again what went down by itself is not held against it. */
export const interventionsOf = ({ nudges, escalations, stops, ofOthers = 0 }: Counts): number =>
  nudges + escalations + stops - ofOthers;

export const noCounts: Counts = { incidents: 0, nudges: 0, escalations: 0, stops: 0, starts: 0 };

/** Who it is. Stays the same from one life to the next. */
export interface Identity {
  readonly agentType: string | null;
  readonly node: string | null;
  readonly lineage: string;
  /** Name of the policy it was started with. */
  readonly policy: string | null;
  /** It has shown that it reads what comes with acknowledgements. */
  readonly readsCommands: boolean;
}

/** Its present life, and how it is heard. */
interface Life {
  readonly incarnation: number;
  readonly bornAt: MonoMs;
  readonly heard: boolean;
  /** The liveness clock: when anything at all was last heard from this incarnation; its birth when nothing was. */
  readonly heardAt: MonoMs;
  /** When the process of the life before this one ended. */
  readonly formerEndAt: MonoMs | null;
  /** How often it promised, with its last beat, to be heard. */
  readonly promise: BeatPromise | null;
  readonly checkIn: CheckIn | null;
  /** Id of the last gap of the monitor that this record's clocks were corrected for. */
  readonly gapsSeen: number;
}

/** What it works on. */
export interface TaskAtHand {
  readonly id: string | null;
  readonly assignedAt: MonoMs | null;
  /** Known by its claim alone, or named by itself and done with since: what it claims next says better what it works on. */
  readonly claimed: boolean;
  /** The task it had ran over its timeout and was taken from it, and it has nothing else to do. */
  readonly overtime: { readonly taskId: string; readonly since: MonoMs } | null;
  /** Newest checkpoint of its task that we keep. */
  readonly checkpoint: string | null;
}

/** What it does, and the time spent at it. */
interface Work {
  readonly activity: Activity;
  readonly clock: WorkClock;
  /** The longest stretch of work without a new fact or line that this lineage came back from by itself. */
  readonly longestQuiet: DurationMs;
}

/** What is seen of it. */
interface Seen {
  readonly facts: Facts;
  /** What is remembered of its calls and messages; `null` when it never told of any. */
  readonly steps: StepTrail | null;
  /** Only of an agent that Rouse holds: what its terminal and its processes show. */
  readonly terminal: TerminalFacts | null;
  /** The provider's limit it last ran into, standing or over. */
  readonly limit: Limit | null;
}

/** What is made of that, and who was told. */
export interface Health {
  readonly state: HealthState;
  readonly since: MonoMs;
  readonly reason: HealthReason;
  readonly findings: readonly Finding[];
  readonly alert: AlertLife | null;
  readonly alertsRaised: number;
  /** What was last told and is over. */
  readonly lastAlert: (Pick<AlertLife, "cause" | "told"> & { readonly resolvedAt: MonoMs }) | null;
}

/** What is done about it. */
interface Ladder {
  readonly incident: Incident | null;
  readonly handedOver: HandedOver | null;
  readonly containment: ContainLife | null;
  /** What somebody was last asked about, and when: an agent that is well for a moment and ill again is no news. */
  readonly asked: { readonly cause: HealthReason; readonly at: MonoMs } | null;
  readonly nudge: NudgeLife | null;
  readonly answers: AnswersHeard | null;
  /** The last nudge that reached it while it was STUCK: what was found before is no evidence any more. */
  readonly reached: Reached | null;
  /** Our nudges of this life, newest last. */
  readonly nudged: readonly NudgeSpent[];
  /** Incidents, nudges, escalations, stops and starts so far: their numbers make keys that are never used twice. */
  readonly counts: Counts;
}

/**
 * How its present life is ended, and the next one begun. Orders belong to the life and not to a stage of an incident: a person's come without one, ours are
 * taken over by a person at any stage, and how a life ended is read until the next one, long after its incident is closed.
 */
interface Ending {
  readonly stop: StopLife | null;
  /** Why the last wish to stop it was refused, so that the same refusal is told once. */
  readonly refused: StopRefusal | null;
  readonly restart: RestartLife | null;
}

/** How often it was brought back. */
interface Recovery {
  /** When this lineage was started again since a person last looked at it, newest last. */
  readonly restarts: readonly MonoMs[];
  /** When it was last started again by ourselves, whoever has looked since: there is a rest after each. */
  readonly restartedAt: MonoMs | null;
  /** Attempts to bring this lineage back, newest last. */
  readonly attempts: readonly RecoveryAttempt[];
  readonly recovered: Recovered | null;
}

/** Everything core knows of one agent. Plain data: it is saved as it is; `readRecord` reads it. */
export interface AgentRecord {
  readonly agentId: string;
  readonly identity: Identity;
  readonly life: Life;
  readonly task: TaskAtHand;
  readonly work: Work;
  readonly beats: BeatLedger;
  readonly seen: Seen;
  readonly health: Health;
  readonly ladder: Ladder;
  readonly ending: Ending;
  readonly recovery: Recovery;
  /** The next moment at which the verdict could change by itself. */
  readonly wakeAt: MonoMs | null;
}

interface Birth {
  readonly agentId: string;
  readonly agentType: string | null;
  readonly node: string | null;
  readonly incarnation: number;
  readonly taskId: string | null;
  readonly gapsSeen: number;
}

/** The record of an agent at the start of an incarnation. */
export function newRecord(birth: Birth, now: MonoMs): AgentRecord {
  const { agentId, agentType, node, incarnation, taskId, gapsSeen } = birth;
  return {
    agentId,
    identity: { agentType, node, lineage: agentId, policy: null, readsCommands: false },
    life: {
      incarnation,
      bornAt: now,
      heard: false,
      heardAt: now,
      formerEndAt: null,
      promise: null,
      checkIn: null,
      gapsSeen,
    },
    task: {
      id: taskId,
      assignedAt: taskId === null ? null : now,
      claimed: false,
      overtime: null,
      checkpoint: null,
    },
    work: { activity: { kind: "STARTING", since: now }, clock: { total: 0, resumesAt: null }, longestQuiet: 0 },
    beats: noBeats,
    seen: { facts: noFacts, steps: null, terminal: null, limit: null },
    health: {
      state: "HEALTHY",
      since: now,
      reason: "registered",
      findings: [],
      alert: null,
      alertsRaised: 0,
      lastAlert: null,
    },
    ladder: {
      incident: null,
      handedOver: null,
      containment: null,
      asked: null,
      nudge: null,
      answers: null,
      reached: null,
      nudged: [],
      counts: noCounts,
    },
    ending: { stop: null, refused: null, restart: null },
    recovery: { restarts: [], restartedAt: null, attempts: [], recovered: null },
    wakeAt: now,
  };
}

/** The same agent's next life: clocks and facts start anew, what belongs to the lineage stays. */
export function nextIncarnation(record: AgentRecord, incarnation: number, now: MonoMs): AgentRecord {
  const { agentId, identity, life, task, work, seen, health, ladder, recovery } = record;
  const { agentType, node } = identity;
  const born = newRecord({ agentId, agentType, node, incarnation, taskId: task.id, gapsSeen: life.gapsSeen }, now);
  return {
    ...born,
    identity,
    life: { ...born.life, formerEndAt: seen.terminal?.exit?.at ?? null },
    task: { ...born.task, claimed: task.claimed, checkpoint: task.checkpoint },
    work: { ...born.work, longestQuiet: work.longestQuiet },
    seen: { ...born.seen, limit: seen.limit },
    health: { ...health, findings: [] },
    ladder: { ...born.ladder, incident: ladder.incident, counts: ladder.counts },
    recovery,
  };
}

/** The record with some fields of one group changed. */
export const withSeen = (record: AgentRecord, changes: Partial<Seen>): AgentRecord => ({
  ...record,
  seen: { ...record.seen, ...changes },
});

export const withLadder = (record: AgentRecord, changes: Partial<Ladder>): AgentRecord => ({
  ...record,
  ladder: { ...record.ladder, ...changes },
});

export const withEnding = (record: AgentRecord, changes: Partial<Ending>): AgentRecord => ({
  ...record,
  ending: { ...record.ending, ...changes },
});

/** Whether its own process is over, whoever ended it. */
export const isOver = ({ seen: { terminal } }: AgentRecord): boolean => terminal !== null && terminal.exit !== null;

/** Its own process is over, and processes it started are not. */
export const hasLeftovers = ({ seen }: AgentRecord): boolean => (seen.terminal?.leftovers ?? null) !== null;

/** It is to be started again, and neither its new life nor a failure has been heard of yet. */
export const isStartingAgain = ({ ending: { restart } }: AgentRecord): boolean =>
  restart !== null && restart.problem === null;
