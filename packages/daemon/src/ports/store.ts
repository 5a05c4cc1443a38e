import {
  type AuditRecord,
  type DurationMs,
  type EpochMs,
  type EventType,
  Fault,
  type MonoMs,
  type RouseEvent,
  type SavedEvent,
} from "@rouse/contract";

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

/** The record of one agent. `through` is the id of the last signal that is part of it. */
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

/** The record of one thing of some machine: a task, an agent's trust, the kill budget. */
export interface SavedMachine {
  /** Name of the machine. */
  readonly machine: string;
  readonly id: string;
  /** JSON; `null` removes it. */
  readonly record: string | null;
  /** When it ended; `null` while it has not. It is kept for as long after that as the history. */
  readonly overAt: EpochMs | null;
}

/** The machine that has checkpoints. */
export const taskMachine = "task";

/** A saved thing that was not removed. */
export interface KeptMachine extends SavedMachine {
  readonly record: string;
}

/** One checkpoint of a task's chain, without its state. It is never changed. */
export interface SavedHead {
  readonly id: string;
  readonly taskId: string;
  /** Place in the chain of its task, from 1 on. */
  readonly number: number;
  readonly time: EpochMs;
  /** JSON of the CheckpointHead. */
  readonly head: string;
}

export interface SavedCheckpoint extends SavedHead {
  /** Canonical JSON of the state; `null` when it lies in a file named by its hash, or was forgotten. */
  readonly state: string | null;
  /** Only `forgetOldStates` makes it so. */
  readonly stateForgotten?: true;
}

/** The most states of a task, and their bytes in all. The newest stays, however large it is. */
export interface StatesToKeep {
  readonly states: number;
  readonly bytes: number;
}

/** The place of a line in the audit trail. The next line and the marks below refer to it. */
export interface AuditPlace {
  readonly number: number;
  readonly hash: string;
}

/** The mark of the last audit line, written with every commit that has some: JSON of its `AuditPlace`. */
export const auditHeadMark = "audit-head";
/** The mark of the last audit line that an earlier version removed: JSON of its `AuditPlace`. Now the trail says it. */
export const auditRemovedMark = "audit-anchor";
/** The mark of the store's id, made with its first monitor: holders and seals name it. */
export const storeMark = "store";
/** The mark of the id that the trail is sealed under, written with its first seal: the store's own. */
export const auditStoreMark = "audit-store";

/** The trail in a database that no monitor has open: its lines, and the marks above. */
export interface StoredTrail {
  readonly lines: readonly unknown[];
  readonly marks: { readonly head: string | null; readonly store: string | null; readonly removed: string | null };
}

export interface AuditQuery {
  /** Only lines with a larger number. */
  readonly after?: number | undefined;
  /** Only lines with a smaller number. */
  readonly before?: number | undefined;
  readonly subject?: string | undefined;
  readonly limit: number;
  /** Newest first instead of oldest first. */
  readonly newestFirst?: boolean;
}

/** Everything that one turn of the event loop saves, all of it or nothing. */
export interface Commit {
  /** The epoch it was decided under, from `takeOver`; 0 before the first. */
  readonly epoch: number;
  /** Numbers of agents that are removed, before anything else of this commit is written. */
  readonly removed: readonly number[];
  readonly signals: readonly SavedSignal[];
  readonly records: readonly SavedRecord[];
  readonly events: readonly EventToSave[];
  readonly actions: readonly IntendedAction[];
  /** Keys of actions that are over: they leave the outbox. */
  readonly finished: readonly string[];
  readonly machines: readonly SavedMachine[];
  readonly checkpoints: readonly SavedCheckpoint[];
  /** Numbered and chained by the runtime; the store keeps them as they are. */
  readonly audit: readonly AuditRecord[];
  /** Small named facts of the monitor itself (freeze, last sign of life, clock anchor). `null` removes one. */
  readonly marks: Readonly<Record<string, string | null>>;
}

export const emptyCommit: Commit = {
  epoch: 0,
  removed: [],
  signals: [],
  records: [],
  events: [],
  actions: [],
  finished: [],
  machines: [],
  checkpoints: [],
  audit: [],
  marks: {},
};

/** Another monitor has taken the shard over: this one decided without knowing what that one did. */
export const epochLost = (lost: number, taken: number): Fault =>
  new Fault("epoch-lost", `another monitor has taken over (epoch ${taken}), so this one (epoch ${lost}) saves nothing`);

/** What a monitor that starts needs to go on where the last one stopped. */
export interface Resumption {
  readonly records: readonly SavedRecord[];
  /** Signals newer than the `through` of their agent's record, oldest first. */
  readonly signals: readonly SavedSignal[];
  readonly actions: readonly IntendedAction[];
  /** In order of their machine and id. */
  readonly machines: readonly KeptMachine[];
  /** Where the audit trail ends. */
  readonly lastAudit: AuditPlace | null;
  readonly marks: Readonly<Record<string, string>>;
  readonly lastSignalId: number;
  readonly lastEventId: number;
}

export interface EventQuery {
  /** Only events with a larger id. */
  readonly after?: number | undefined;
  /** Only events with a smaller id. */
  readonly before?: number | undefined;
  readonly agentId?: string | undefined;
  readonly types?: readonly EventType[] | undefined;
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
  /** Events, hourly rows and things of any machine that ended are removed when they are older than this. */
  readonly history: DurationMs;
  /** Audit lines up to this number are removed, but never the last; a line of the trail says so first. */
  readonly auditThrough?: number;
}

/**
 * One shard of what Rouse keeps. Several shards may lie in one place, each with a store of its own. Embedded, there is
 * one, number 0. The promises:
 * - A shard has its own records, machines, events, checkpoints, marks, numbers and audit trail, and shows nothing of
 *   another's.
 * - A commit that resolved is on disk, whole, and survives the death of the process and of the machine.
 * - A commit that rejected left nothing behind; the same commit may be tried again. Rejections are `Fault`s:
 *   `store-unavailable` (retryable: full disk, read-only, IO error) or `database-damaged`.
 * - A commit whose epoch is not the one taken last is refused with `epoch-lost`, and nothing of it is kept. That is
 *   checked in the transaction that writes, so a monitor that was replaced cannot write, however late it learns of
 *   that.
 * - Commits are applied in the order they were called.
 * - Saving a signal, an event, an action, a checkpoint or an audit line under an id, key or number that is already
 *   there changes nothing: a retry is harmless. The record of a machine is replaced.
 * - A removed agent leaves no record and no signal. Another may have its name from the same commit on. Its events and
 *   audit lines stay until they are old.
 * - Checkpoints are kept for as long as their task is; tasks that are over, and their checkpoints, are removed with the
 *   history. Of old checkpoints the state may be forgotten, never the head: the chain stays whole. Files of states are
 *   the runtime's; `refersToState` tells whether one is still needed.
 * - Only the beginning of the audit trail is ever removed, never the last line: the rest is still a chain, and the next
 *   line finds its end.
 * - Reads see every commit that resolved before they were called.
 * - `tidy` works in small steps so that a commit never waits long for it; it resolves to true while there is more to
 *   do.
 * - One monitor per shard: a second `open` rejects with `daemon-running` for as long as the first lives, however it
 *   dies.
 * - `close` waits for what is under way; calling it twice is fine.
 */
export interface Store {
  /** Takes the shard over, with a higher epoch than any before. Resume after it: then no other monitor writes. */
  takeOver(): Promise<number>;
  resume(): Promise<Resumption>;
  commit(commit: Commit): Promise<void>;
  readEvents(query: EventQuery): Promise<SavedEvent[]>;
  /** Newest first, only ids below `before` where that is given. */
  readBeats(agentNo: number, limit: number, before?: number): Promise<SavedSignal[]>;
  /** The signals that may hold steps (`steps`, `holder`): newest first, only ids below `before` where that is given. */
  readSteps(agentNo: number, before: number | null, limit: number): Promise<SavedSignal[]>;
  /** Stretches of `step` covering (from, to], oldest first; stretches without a beat are left out. */
  readHistory(agentNo: number, from: EpochMs, to: EpochMs, step: DurationMs): Promise<BeatStretch[]>;
  readAudit(query: AuditQuery): Promise<AuditRecord[]>;
  /** Newest first, only numbers below `before` where that is given. Their states are large, and read one by one. */
  readCheckpoints(taskId: string, limit: number, before?: number): Promise<SavedHead[]>;
  findCheckpoint(id: string): Promise<SavedCheckpoint | null>;
  /** Whether any checkpoint that is kept has its state in the file of this hash. */
  refersToState(stateHash: string): Promise<boolean>;
  /** Forgets the oldest states of a task beyond those to keep. Resolves to the hashes of those that lie in files. */
  forgetOldStates(taskId: string, keep: StatesToKeep): Promise<string[]>;
  tidy(order: RetentionOrder): Promise<boolean>;
  close(): Promise<void>;
}
