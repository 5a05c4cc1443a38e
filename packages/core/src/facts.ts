import type { AgentStatus, EpochMs, MonoMs, OpenWork, WaitKind, WorkMs } from "@rouse/contract";

/** What an agent is doing. It decides which clock runs. */
export type Activity =
  | { readonly kind: "STARTING"; readonly since: MonoMs }
  | { readonly kind: "RUNNING"; readonly since: MonoMs; readonly open: (OpenWork & { readonly since: MonoMs }) | null }
  | { readonly kind: "WAITING"; readonly since: MonoMs; readonly for: WaitKind; readonly until: MonoMs | null }
  | { readonly kind: "IDLE"; readonly since: MonoMs }
  | { readonly kind: "FINISHED"; readonly since: MonoMs };

type ToolOpen = Extract<Activity, { kind: "RUNNING" }> & { readonly open: { readonly since: MonoMs } };

export const isToolOpen = (activity: Activity): activity is ToolOpen =>
  activity.kind === "RUNNING" && activity.open?.kind === "tool";

/**
 * Time spent at work. The clock stands still until `resumesAt` (`null`: until the activity changes) and runs from then
 * on. So idling, waiting, starting, an open tool and the end of patience are the same arithmetic.
 */
export interface WorkClock {
  readonly total: WorkMs;
  readonly resumesAt: MonoMs | null;
}

/** When something last changed: steady time for people, the work clock for judging. */
export interface Mark {
  readonly at: MonoMs;
  readonly worked: WorkMs;
}

/** What is remembered of beat numbers: enough to tell duplicates from late beats and to count lost ones. */
export interface BeatLedger {
  readonly lastSequence: number | null;
  /** Bit i: the beat numbered lastSequence − 1 − i was seen. */
  readonly seenBefore: number;
  readonly lastAgentTime: EpochMs | null;
  /** When a beat was last read. */
  readonly lastAt: MonoMs | null;
  /** When a beat last showed that its agent is there, read or not; absent in records of an earlier version. */
  readonly heardAt?: MonoMs | null;
  /**
   * Beats in a row whose numbers began again. With later times, the agent restarted without saying so. `untimed`:
   * without times, so they may be old beats as well.
   */
  readonly startedOver: {
    readonly count: number;
    readonly sequence: number;
    readonly untimed?: true;
    /** When the first of them came. */
    readonly since?: MonoMs;
  } | null;
  /** The highest number and time among late beats: a living agent goes on from there, a recording does not. */
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
  /** Good beats and calls since the agent was FAILING; absent in records of an earlier version. */
  readonly sinceFailure?: number;
  readonly reportedFailures: number | null;
  readonly reportedErrorRate: number | null;
  readonly memory: number | null;
  /** Share of its context that is filled. */
  readonly context: number | null;
  readonly selfReported: AgentStatus | null;
  /**
   * How often in a row the agent beat, at its rhythm, in the middle of one tool or wait. Three times show that a timer
   * sends its beats, so a tool does not explain its silence. It stays known until the agent shows otherwise.
   */
  readonly beatsThroughWork: number;
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

export const noFacts: Facts = {
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

export type Draft<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A copy to fill in. Written out field by field: it is made for every beat, and a spread with changes takes twenty
 * times as long.
 */
export function draftOfLedger(ledger: BeatLedger): Draft<BeatLedger> {
  return {
    lastSequence: ledger.lastSequence,
    seenBefore: ledger.seenBefore,
    lastAgentTime: ledger.lastAgentTime,
    lastAt: ledger.lastAt,
    heardAt: lastBeatHeard(ledger),
    startedOver: ledger.startedOver,
    // Absent in records of an earlier version.
    late: ledger.late ?? null,
    accepted: ledger.accepted,
    duplicates: ledger.duplicates,
    stale: ledger.stale,
    refused: ledger.refused,
    lost: ledger.lost,
    skew: ledger.skew,
  };
}
