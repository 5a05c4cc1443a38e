import type { DurationMs, EpochMs, EventType, MonoMs, RouseEvent, SavedEvent } from "@rouse/contract";

/** A fact that came in, as it is kept. `at` is the monitor's steady time, `time` the wall clock at the same instant. */
export interface SavedSignal {
  readonly id: number;
  readonly agentNo: number;
  readonly at: MonoMs;
  readonly time: EpochMs;
  readonly kind: "heartbeat" | "registered" | "holder" | "steps";
  /** JSON. */
  readonly body: string;
}

/** What core knows of one agent. `through` is the id of the last signal that is part of it. */
export interface SavedRecord {
  readonly agentNo: number;
  readonly agentId: string;
  readonly through: number;
  /** JSON. */
  readonly record: string;
}

export interface EventToSave {
  readonly id: number;
  readonly time: EpochMs;
  readonly agentId: string | null;
  readonly event: RouseEvent;
}

/** An action that core intends. Its key makes it safe to issue twice. */
export interface IntendedAction {
  readonly key: string;
  readonly agentId: string | null;
  readonly createdAt: EpochMs;
  /** JSON. */
  readonly body: string;
}

export interface AuditEntry {
  readonly time: EpochMs;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
}

/** Everything one turn of the event loop wants kept, all of it or nothing. */
export interface Commit {
  readonly signals: readonly SavedSignal[];
  readonly records: readonly SavedRecord[];
  readonly events: readonly EventToSave[];
  readonly actions: readonly IntendedAction[];
  /** Keys of actions that are over: they leave the outbox. */
  readonly finished: readonly string[];
  readonly audit: readonly AuditEntry[];
  /** Small named facts of the monitor itself (freeze, last sign of life, clock anchor). `null` removes one. */
  readonly marks: Readonly<Record<string, string | null>>;
}

export const emptyCommit: Commit = {
  signals: [],
  records: [],
  events: [],
  actions: [],
  finished: [],
  audit: [],
  marks: {},
};

/** What a monitor that starts needs to go on where the last one stopped. */
export interface Resumption {
  readonly records: readonly SavedRecord[];
  /** Signals newer than the `through` of their agent's record, oldest first. */
  readonly signals: readonly SavedSignal[];
  readonly actions: readonly IntendedAction[];
  readonly marks: Readonly<Record<string, string>>;
  readonly lastSignalId: number;
  readonly lastEventId: number;
}

export interface EventQuery {
  /** Only events with a larger id. */
  readonly after?: number;
  readonly agentId?: string;
  readonly types?: readonly EventType[];
  readonly since?: EpochMs;
  readonly until?: EpochMs;
  readonly limit: number;
  /** Newest first instead of oldest first. */
  readonly newestFirst?: boolean;
}

export interface BeatStretch {
  /** End of the stretch. */
  readonly at: EpochMs;
  readonly beats: number;
  /** Last values reported in the stretch; `null` when none was. */
  readonly tokenCount: number | null;
  readonly errorCount: number | null;
  readonly toolCallCount: number | null;
}

export interface RetentionOrder {
  readonly now: EpochMs;
  /** Single beats older than this become one row an hour. */
  readonly beats: DurationMs;
  /** Events, hourly rows and audit entries older than this are removed. */
  readonly history: DurationMs;
}

/**
 * Where Rouse keeps what it must not forget. The promises:
 * - A commit that resolved is on disk, whole, and survives the death of the process and of the machine.
 * - A commit that rejected left nothing behind; the same commit may be tried again. Rejections are `Fault`s: `store-unavailable`
 *   (retryable: full disk, read-only, IO error) or `database-damaged`.
 * - Commits are applied in the order they were called.
 * - Saving a signal, an event or an action under an id or key that is already there changes nothing: a retry is harmless.
 * - Reads see every commit that resolved before they were called.
 * - `tidy` works in small steps so that a commit never waits long for it; it resolves to true while there is more to do.
 * - One monitor per store: a second `open` rejects with `daemon-running` for as long as the first lives, however it dies.
 * - `close` waits for what is under way; calling it twice is fine.
 */
export interface Store {
  resume(): Promise<Resumption>;
  commit(commit: Commit): Promise<void>;
  readEvents(query: EventQuery): Promise<SavedEvent[]>;
  /** Newest first. */
  readBeats(agentNo: number, limit: number): Promise<SavedSignal[]>;
  /** What agents and holders told of steps, and so may tell (`steps` and `holder`): newest first, only ids below `before` where that is given. */
  readSteps(agentNo: number, before: number | null, limit: number): Promise<SavedSignal[]>;
  /** Stretches of `step` covering (from, to], oldest first; stretches without a beat are left out. */
  readHistory(agentNo: number, from: EpochMs, to: EpochMs, step: DurationMs): Promise<BeatStretch[]>;
  readAudit(limit: number): Promise<AuditEntry[]>;
  tidy(order: RetentionOrder): Promise<boolean>;
  close(): Promise<void>;
}
