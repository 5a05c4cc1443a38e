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
import type { OpenBreaker } from "./breakers/open-breakers.ts";
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
  RecoveryGate,
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
  /** The cause came back soon after it was gone: the alert stays open until the agent has been well for a while. */
  readonly again?: true;
  /** Causes told since the agent was last well for a while, this one last; absent: only this one. */
  readonly told?: readonly HealthReason[];
};

/** A request to check in after a gap: asked once per gap, answered by the next beat. */
type CheckIn = { readonly gap: number; readonly state: "asked" | "answered" };

/** How often the agent gave each answer since its last nudge: of many, not every one is told. */
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
  /** Numbers taken over from removed agents of the same id: keys go on from them, but they were not its own. */
  readonly ofOthers?: number;
}

/** Interventions: nudges, questions and stops. Restarts after an exit do not count. */
export const interventionsOf = ({ nudges, escalations, stops, ofOthers = 0 }: Counts): number =>
  nudges + escalations + stops - ofOthers;

export const noCounts: Counts = { incidents: 0, nudges: 0, escalations: 0, stops: 0, starts: 0 };

/** Who the agent is. Stays the same from one life to the next. */
export interface Identity {
  readonly agentType: string | null;
  readonly node: string | null;
  readonly lineage: string;
  /** Name of the policy that it was started with. */
  readonly policy: string | null;
  /** The agent has shown that it reads commands on acknowledgements. */
  readonly readsCommands: boolean;
}

/** The present life, and how it is heard. */
interface Life {
  readonly incarnation: number;
  readonly bornAt: MonoMs;
  readonly heard: boolean;
  /** The liveness clock: when anything was last heard from this incarnation, or its birth. */
  readonly heardAt: MonoMs;
  /** When the process of the former life ended. */
  readonly formerEndAt: MonoMs | null;
  /** The rhythm that the agent promised with its last beat. */
  readonly promise: BeatPromise | null;
  readonly checkIn: CheckIn | null;
  /** Id of the last gap that this record's clocks were corrected for. */
  readonly gapsSeen: number;
}

/** What the agent works on. */
export interface TaskAtHand {
  readonly id: string | null;
  readonly assignedAt: MonoMs | null;
  /** The task is known by a claim only, or is done: the next claim replaces it. */
  readonly claimed: boolean;
  /** The task timed out and was taken away, and the agent has no other. */
  readonly overtime: { readonly taskId: string; readonly since: MonoMs } | null;
  /** The newest kept checkpoint of the task. */
  readonly checkpoint: string | null;
}

/** What the agent does, and the time spent at it. */
interface Work {
  readonly activity: Activity;
  readonly clock: WorkClock;
  /** The longest stretch of work without news that this lineage ended by itself. */
  readonly longestQuiet: DurationMs;
}

/** What is seen of the agent. */
interface Seen {
  readonly facts: Facts;
  /** Its remembered calls and messages; `null` when it never told of any. */
  readonly steps: StepTrail | null;
  /** Only for a held agent: what its terminal and its processes show. */
  readonly terminal: TerminalFacts | null;
  /** The provider's limit that it last met, standing or over. */
  readonly limit: Limit | null;
  /** Its circuit breakers that are not closed; those that matter most first. */
  readonly breakers: readonly OpenBreaker[];
}

/** The verdict, and who was told. */
export interface Health {
  readonly state: HealthState;
  readonly since: MonoMs;
  readonly reason: HealthReason;
  readonly findings: readonly Finding[];
  readonly alert: AlertLife | null;
  readonly alertsRaised: number;
  /** The last alert that is over. */
  readonly lastAlert: (Pick<AlertLife, "cause" | "told"> & { readonly resolvedAt: MonoMs }) | null;
}

/** What is done about the agent. */
interface Ladder {
  readonly incident: Incident | null;
  readonly handedOver: HandedOver | null;
  readonly containment: ContainLife | null;
  /** The cause and time of the last question: an agent that is well for a moment and ill again is no news. */
  readonly asked: { readonly cause: HealthReason; readonly at: MonoMs } | null;
  readonly nudge: NudgeLife | null;
  readonly answers: AnswersHeard | null;
  /** The last nudge that reached it while STUCK: findings from before it are no evidence any more. */
  readonly reached: Reached | null;
  /** Our nudges of this life, newest last. */
  readonly nudged: readonly NudgeSpent[];
  /** Their numbers make keys that are never used twice. */
  readonly counts: Counts;
}

/**
 * How the present life is ended and the next one begun. Orders belong to the life and not to a stage of an incident: a
 * person's come without one, ours may be taken over by a person, and how a life ended is read long after its incident
 * is closed.
 */
interface Ending {
  readonly stop: StopLife | null;
  /** Why the last stop was refused, so that the same refusal is told once. */
  readonly refused: StopRefusal | null;
  readonly restart: RestartLife | null;
}

/** How often the agent was brought back. */
interface Recovery {
  /** Restarts of this lineage since a person last looked at it, newest last. */
  readonly restarts: readonly MonoMs[];
  /** Our last restart, whoever has looked since: the cooldown counts from it. */
  readonly restartedAt: MonoMs | null;
  /** Recoveries of this lineage, newest last. */
  readonly attempts: readonly RecoveryAttempt[];
  readonly recovered: Recovered | null;
  /** Holds back attempts after some that failed; `null` before the first. */
  readonly gate: RecoveryGate | null;
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

/** One shared value, so that "still none" is seen by comparing references. */
export const noBreakers: readonly OpenBreaker[] = [];

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
    seen: { facts: noFacts, steps: null, terminal: null, limit: null, breakers: noBreakers },
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
    recovery: { restarts: [], restartedAt: null, attempts: [], recovered: null, gate: null },
    wakeAt: now,
  };
}

/** The agent's next life: clocks and facts start anew, what belongs to the lineage stays. */
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

/** How events and actions name one life of an agent. */
export const lifeOf = ({ agentId, life: { incarnation } }: AgentRecord) => ({ agentId, incarnation });

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

/** Whether the agent's own process is over, whoever ended it. */
export const isOver = ({ seen: { terminal } }: AgentRecord): boolean => terminal !== null && terminal.exit !== null;

/** The agent's own process is over, but processes that it started are not. */
export const hasLeftovers = ({ seen }: AgentRecord): boolean => (seen.terminal?.leftovers ?? null) !== null;

/** A start is ordered, and neither a new life nor a failure was heard of yet. */
export const isStartingAgain = ({ ending: { restart } }: AgentRecord): boolean =>
  restart !== null && restart.problem === null;
