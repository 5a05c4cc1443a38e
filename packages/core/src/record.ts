import type {
  AgentAnswer,
  AgentStatus,
  AlertSeverity,
  BeatPromise,
  DurationMs,
  EpochMs,
  EvidenceClass,
  FindingKind,
  FindingLevel,
  HealthReason,
  HealthState,
  HeldBecause,
  MonoMs,
  OpenWork,
  StopRefusal,
  WaitKind,
  WorkMs,
} from "@rouse/contract";
import type {
  ContainLife,
  HandedOver,
  Incident,
  NudgeLife,
  NudgeSpent,
  Reached,
  Recovered,
  RecoveryAttempt,
} from "./incident.ts";
import type { Limit } from "./limit.ts";
import type { StepTrail } from "./steps/step.ts";
import type { RestartLife, StopLife, TerminalFacts } from "./terminal-facts.ts";

/** What an agent is doing. It decides which clock runs. */
export type Activity =
  | { readonly kind: "STARTING"; readonly since: MonoMs }
  | { readonly kind: "RUNNING"; readonly since: MonoMs; readonly open: (OpenWork & { readonly since: MonoMs }) | null }
  | { readonly kind: "WAITING"; readonly since: MonoMs; readonly for: WaitKind; readonly until: MonoMs | null }
  | { readonly kind: "IDLE"; readonly since: MonoMs }
  | { readonly kind: "FINISHED"; readonly since: MonoMs };

/**
 * Time spent at work. It stands still until `resumesAt` (`null`: until the activity changes) and runs from then on, so an idle, a
 * waiting and a starting agent, an open tool and the end of its patience are all the same arithmetic.
 */
export interface WorkClock {
  readonly total: WorkMs;
  readonly resumesAt: MonoMs | null;
}

/** When something was last seen to change: on the steady timeline for people, on the work clock for judging. */
export interface Mark {
  readonly at: MonoMs;
  readonly worked: WorkMs;
}

export interface Finding {
  readonly kind: FindingKind;
  readonly level: FindingLevel;
  readonly confidence: number;
  readonly class: EvidenceClass;
  /** Made from numbers and fixed words only, never from text an agent sent. */
  readonly text: string;
  readonly evidence: Readonly<Record<string, number | string>>;
  readonly since: MonoMs;
  readonly held?: HeldBecause;
}

/** What is remembered of the numbers on the beats: enough to tell a duplicate from a late one and to count what was lost. */
export interface BeatLedger {
  readonly lastSequence: number | null;
  /** Bit i: the beat numbered lastSequence − 1 − i was seen. */
  readonly seenBefore: number;
  readonly lastAgentTime: EpochMs | null;
  /** When one was last read. */
  readonly lastAt: MonoMs | null;
  /** When one last showed that its agent is there, read or not; absent in what an earlier version saved. */
  readonly heardAt?: MonoMs | null;
  /**
   * Beats in a row that are numbered from the start again: with later times, an agent that restarted without saying so. `untimed`: without times, so that
   * they may be old ones as well.
   */
  readonly startedOver: { readonly count: number; readonly sequence: number; readonly untimed?: true } | null;
  /** The highest number and time among beats that were not newer than the newest: whoever lives goes on from there, a recording does not. */
  readonly late: { readonly sequence: number | null; readonly time: EpochMs | null } | null;
  readonly accepted: number;
  readonly duplicates: number;
  readonly stale: number;
  readonly refused: number;
  readonly lost: number;
  readonly skew: number | null;
}

/** Calls and errors of one stretch of time, for the error rate. */
export interface OutcomeStretch {
  readonly from: MonoMs;
  readonly calls: number;
  readonly errors: number;
}

export interface TokenRate {
  readonly at: MonoMs;
  /** Tokens per minute, exponentially averaged; `null` until two readings came. */
  readonly usual: number | null;
  readonly readings: number;
  /** The last reading as a multiple of the usual rate when it was a spike. */
  readonly spike: number | null;
}

/** What the agent reported of its work. `null` is "never said", which is not zero and not bad. */
export interface Facts {
  readonly phase: string | null;
  readonly progressIndicator: string | null;
  readonly lastToolCall: string | null;
  readonly lastCheckpoint: string | null;
  readonly tokenCount: number | null;
  readonly errorCount: number | null;
  readonly toolCallCount: number | null;
  readonly progress: Mark | null;
  /** Progress was seen to move at least once, so its standing still means something. */
  readonly progressMoves: boolean;
  readonly toolCall: Mark | null;
  readonly checkpoint: Mark | null;
  readonly tokens: Mark | null;
  readonly tokenRate: TokenRate | null;
  readonly outcomes: readonly OutcomeStretch[];
  /** Beats in a row that brought new errors and nothing good. */
  readonly failingBeats: number;
  /** Beats and calls that went well after more of them than are allowed; absent in what an earlier version saved. */
  readonly sinceFailure?: number;
  readonly reportedFailures: number | null;
  readonly reportedErrorRate: number | null;
  readonly memory: number | null;
  /** Share of its context that is filled. */
  readonly context: number | null;
  readonly selfReported: AgentStatus | null;
  /**
   * How often in a row it was heard, at its own rhythm, in the middle of one tool or wait. Three times shows that its beats come from a timer, so
   * that silence in a tool is not explained by the tool; it stays known until the agent shows otherwise.
   */
  readonly beatsThroughWork: number;
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
export type CheckIn = { readonly gap: number; readonly state: "asked" | "answered" };

/** How often it gave which answer since it was last nudged: not every one of many is told. */
export interface AnswersHeard extends Readonly<Record<AgentAnswer["kind"], number>> {
  /** Id of that nudge. */
  readonly since: string | null;
}

export interface Counts {
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

const noCounts: Counts = { incidents: 0, nudges: 0, escalations: 0, stops: 0, starts: 0 };

/** Everything core knows of one agent. Plain data: it is saved as it is. */
export interface AgentRecord {
  readonly agentId: string;
  readonly agentType: string | null;
  readonly node: string | null;
  readonly lineage: string;
  readonly incarnation: number;
  readonly bornAt: MonoMs;
  readonly heard: boolean;
  /** The liveness clock: when anything at all was last heard from this incarnation; its birth when nothing was. */
  readonly heardAt: MonoMs;
  readonly taskId: string | null;
  readonly taskAssignedAt: MonoMs | null;
  /** Known by its claim alone, or named by itself and done with since: what it claims next says better what it works on. */
  readonly taskClaimed: boolean;
  /** The task it had ran over its timeout and was taken from it, and it has nothing else to do. */
  readonly overtime: { readonly taskId: string; readonly since: MonoMs } | null;
  readonly health: { readonly state: HealthState; readonly since: MonoMs; readonly reason: HealthReason };
  readonly activity: Activity;
  readonly work: WorkClock;
  readonly beats: BeatLedger;
  /** How often it promised, with its last beat, to be heard. */
  readonly promise: BeatPromise | null;
  readonly facts: Facts;
  readonly findings: readonly Finding[];
  readonly alert: AlertLife | null;
  readonly alertsRaised: number;
  /** What was last told and is over. */
  readonly lastAlert: (Pick<AlertLife, "cause" | "told"> & { readonly resolvedAt: MonoMs }) | null;
  readonly checkIn: CheckIn | null;
  /** Name of the policy it was started with. */
  readonly policy: string | null;
  /** The longest stretch of work without a new fact or line that this lineage came back from by itself. */
  readonly longestQuiet: DurationMs;
  /** The provider's limit it last ran into, standing or over. */
  readonly limit: Limit | null;
  /** Only of an agent that Rouse holds: what its terminal and its processes show. */
  readonly terminal: TerminalFacts | null;
  /** What is remembered of its calls and messages; `null` when it never told of any. */
  readonly steps: StepTrail | null;
  readonly stop: StopLife | null;
  readonly restart: RestartLife | null;
  /** When this lineage was started again since a person last looked at it, newest last. */
  readonly restarts: readonly MonoMs[];
  /** When it was last started again by ourselves, whoever has looked since: there is a rest after each. */
  readonly restartedAt: MonoMs | null;
  /** Why the last wish to stop it was refused, so that the same refusal is told once. */
  readonly stopRefused: StopRefusal | null;
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
  /** Attempts to bring this lineage back, newest last. */
  readonly recoveries: readonly RecoveryAttempt[];
  readonly recovered: Recovered | null;
  /** When the process of the life before this one ended. */
  readonly formerEndAt: MonoMs | null;
  /** Newest checkpoint of its task that we keep. */
  readonly checkpoint: string | null;
  /** It has shown that it reads what comes with acknowledgements. */
  readonly readsCommands: boolean;
  /** Incidents, nudges, escalations, stops and starts so far: their numbers make keys that are never used twice. */
  readonly counts: Counts;
  /** Id of the last gap of the monitor that this record's clocks were corrected for. */
  readonly gapsSeen: number;
  /** The next moment at which the verdict could change by itself. */
  readonly wakeAt: MonoMs | null;
}

export const noBeats: BeatLedger = {
  lastSequence: null,
  seenBefore: 0,
  lastAgentTime: null,
  lastAt: null,
  heardAt: null,
  startedOver: null,
  late: null,
  accepted: 0,
  duplicates: 0,
  stale: 0,
  refused: 0,
  lost: 0,
  skew: null,
};

/** When a beat last showed that its agent is there. */
export const lastBeatHeard = ({ heardAt, lastAt }: BeatLedger): MonoMs | null => heardAt ?? lastAt;

const noFacts: Facts = {
  phase: null,
  progressIndicator: null,
  lastToolCall: null,
  lastCheckpoint: null,
  tokenCount: null,
  errorCount: null,
  toolCallCount: null,
  progress: null,
  progressMoves: false,
  toolCall: null,
  checkpoint: null,
  tokens: null,
  tokenRate: null,
  outcomes: [],
  failingBeats: 0,
  sinceFailure: 0,
  reportedFailures: null,
  reportedErrorRate: null,
  memory: null,
  context: null,
  selfReported: null,
  beatsThroughWork: 0,
};

export interface Birth {
  readonly agentId: string;
  readonly agentType: string | null;
  readonly node: string | null;
  readonly incarnation: number;
  readonly taskId: string | null;
  readonly gapsSeen: number;
}

/** The record of an agent at the start of an incarnation. */
export function newRecord(birth: Birth, now: MonoMs): AgentRecord {
  return {
    agentId: birth.agentId,
    agentType: birth.agentType,
    node: birth.node,
    lineage: birth.agentId,
    incarnation: birth.incarnation,
    bornAt: now,
    heard: false,
    heardAt: now,
    taskId: birth.taskId,
    taskAssignedAt: birth.taskId === null ? null : now,
    taskClaimed: false,
    overtime: null,
    health: { state: "HEALTHY", since: now, reason: "registered" },
    activity: { kind: "STARTING", since: now },
    work: { total: 0, resumesAt: null },
    beats: noBeats,
    promise: null,
    facts: noFacts,
    findings: [],
    alert: null,
    alertsRaised: 0,
    lastAlert: null,
    checkIn: null,
    policy: null,
    longestQuiet: 0,
    limit: null,
    terminal: null,
    steps: null,
    stop: null,
    restart: null,
    restarts: [],
    restartedAt: null,
    stopRefused: null,
    incident: null,
    handedOver: null,
    containment: null,
    asked: null,
    nudge: null,
    answers: null,
    reached: null,
    nudged: [],
    recoveries: [],
    recovered: null,
    formerEndAt: null,
    checkpoint: null,
    readsCommands: false,
    counts: noCounts,
    gapsSeen: birth.gapsSeen,
    wakeAt: now,
  };
}

/** The same agent's next life: clocks and facts start anew, what belongs to the lineage stays. */
export function nextIncarnation(record: AgentRecord, incarnation: number, now: MonoMs): AgentRecord {
  const born = newRecord({ ...record, incarnation }, now);
  return {
    ...born,
    lineage: record.lineage,
    taskClaimed: record.taskClaimed,
    health: record.health,
    alert: record.alert,
    alertsRaised: record.alertsRaised,
    lastAlert: record.lastAlert,
    policy: record.policy,
    longestQuiet: record.longestQuiet,
    limit: record.limit,
    restarts: record.restarts,
    restartedAt: record.restartedAt,
    incident: record.incident,
    recoveries: record.recoveries,
    recovered: record.recovered,
    formerEndAt: record.terminal?.exit?.at ?? null,
    checkpoint: record.checkpoint,
    readsCommands: record.readsCommands,
    counts: record.counts,
  };
}

/** Whether its own process is over, whoever ended it. */
export const isOver = ({ terminal }: AgentRecord): boolean => terminal !== null && terminal.exit !== null;

/** Its own process is over, and processes it started are not. */
export const hasLeftovers = ({ terminal }: AgentRecord): boolean => (terminal?.leftovers ?? null) !== null;

/** It is to be started again, and neither its new life nor a failure has been heard of yet. */
export const isStartingAgain = ({ restart }: AgentRecord): boolean => restart !== null && restart.problem === null;

export type Draft<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A copy to fill in before anybody else sees it. Written out because it is made several times for every beat: spreading a record this wide with
 * changes takes some twenty times as long. The return type keeps the list complete.
 */
export function draftOf(record: AgentRecord): Draft<AgentRecord> {
  return {
    agentId: record.agentId,
    agentType: record.agentType,
    node: record.node,
    lineage: record.lineage,
    incarnation: record.incarnation,
    bornAt: record.bornAt,
    heard: record.heard,
    heardAt: record.heardAt,
    taskId: record.taskId,
    taskAssignedAt: record.taskAssignedAt,
    taskClaimed: record.taskClaimed,
    // Not in records of an earlier version.
    overtime: record.overtime ?? null,
    health: record.health,
    activity: record.activity,
    work: record.work,
    beats: record.beats,
    // Not in records of an earlier version.
    promise: record.promise ?? null,
    facts: record.facts,
    findings: record.findings,
    alert: record.alert,
    alertsRaised: record.alertsRaised,
    // Not in records of an earlier version.
    lastAlert: record.lastAlert ?? null,
    checkIn: record.checkIn,
    policy: record.policy,
    longestQuiet: record.longestQuiet,
    limit: record.limit,
    terminal: record.terminal,
    steps: record.steps,
    stop: record.stop,
    restart: record.restart,
    restarts: record.restarts,
    restartedAt: record.restartedAt,
    stopRefused: record.stopRefused,
    incident: record.incident,
    handedOver: record.handedOver,
    // Not in records of an earlier version.
    containment: record.containment ?? null,
    asked: record.asked,
    nudge: record.nudge,
    answers: record.answers,
    reached: record.reached,
    nudged: record.nudged,
    recoveries: record.recoveries,
    recovered: record.recovered,
    formerEndAt: record.formerEndAt,
    checkpoint: record.checkpoint,
    readsCommands: record.readsCommands,
    counts: record.counts,
    gapsSeen: record.gapsSeen,
    wakeAt: record.wakeAt,
  };
}

export function draftOfLedger(ledger: BeatLedger): Draft<BeatLedger> {
  return {
    lastSequence: ledger.lastSequence,
    seenBefore: ledger.seenBefore,
    lastAgentTime: ledger.lastAgentTime,
    lastAt: ledger.lastAt,
    heardAt: lastBeatHeard(ledger),
    startedOver: ledger.startedOver,
    // Not in records of an earlier version.
    late: ledger.late ?? null,
    accepted: ledger.accepted,
    duplicates: ledger.duplicates,
    stale: ledger.stale,
    refused: ledger.refused,
    lost: ledger.lost,
    skew: ledger.skew,
  };
}
