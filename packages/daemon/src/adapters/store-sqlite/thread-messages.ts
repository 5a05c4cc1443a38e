import type { AuditRecord, DurationMs, EpochMs, FaultCode } from "@rouse/contract";
import type {
  AuditQuery,
  Commit,
  EventQuery,
  KeptMachine,
  Resumption,
  RetentionOrder,
  SavedCheckpoint,
  SavedHead,
  SavedMachine,
  StatesToKeep,
} from "../../ports/store.ts";
import type { StretchPart } from "./fold-stretches.ts";

/*
 * What crosses between the port and the worker thread. The thread that answers the agents copies everything on the way.
 * So signals and records, which are many, travel as one array of numbers and one of texts; the rest travels as it is.
 */

export interface PackedSignals {
  /** id, agentNo, at, time, kind for each signal. */
  readonly numbers: Float64Array;
  readonly bodies: readonly string[];
}

export interface PackedRecords {
  /** agentNo, through for each record. */
  readonly numbers: Float64Array;
  /** agentId, record for each record. */
  readonly texts: readonly string[];
}

export interface PackedEvent {
  readonly id: number;
  readonly time: EpochMs;
  readonly agentId: string | null;
  readonly type: string;
  /** JSON. */
  readonly payload: string;
}

export interface PackedLine extends Omit<AuditRecord, "evidence"> {
  /** JSON. */
  readonly evidence: string;
}

export interface PackedCommit extends Omit<Commit, "signals" | "records" | "events" | "audit"> {
  readonly signals: PackedSignals;
  readonly records: PackedRecords;
  readonly events: readonly PackedEvent[];
  readonly audit: readonly PackedLine[];
}

/** A resumption without its records and machines. */
export interface PackedRest extends Omit<Resumption, "signals" | "records" | "machines"> {
  readonly signals: PackedSignals;
}

export interface HistoryQuestion {
  readonly agentNo: number;
  readonly from: EpochMs;
  readonly to: EpochMs;
  readonly step: DurationMs;
  /** Where the answer before this one stopped; `null` to begin with the newest signal. */
  readonly resumeAt: number | null;
}

export interface HistoryPart {
  /** Newest first; each is older than, or continues, what earlier parts said. */
  readonly stretches: readonly StretchPart[];
  /** `null` when this was the last part. */
  readonly resumeAt: number | null;
}

interface SignalQuestion {
  readonly agentNo: number;
  readonly before: number | null;
  readonly limit: number;
}

export interface Calls {
  open: { ask: { readonly folder: string; readonly shard: number }; answer: null };
  takeOver: { ask: null; answer: number };
  commit: { ask: PackedCommit; answer: null };
  /** The next records after this agent number; none when there are no more. */
  readRecords: { ask: number; answer: PackedRecords };
  /** The next after this one in the order of machine and id; none when there are no more. */
  readMachines: { ask: Pick<SavedMachine, "machine" | "id">; answer: readonly KeptMachine[] };
  /** agentNo, through for each record. */
  readRest: { ask: Float64Array; answer: PackedRest };
  readEvents: { ask: EventQuery; answer: readonly PackedEvent[] };
  readBeats: { ask: SignalQuestion; answer: PackedSignals };
  readSteps: { ask: SignalQuestion; answer: PackedSignals };
  readHistory: { ask: HistoryQuestion; answer: HistoryPart };
  readAudit: { ask: AuditQuery; answer: readonly PackedLine[] };
  readCheckpoints: {
    ask: { readonly taskId: string; readonly before: number; readonly limit: number };
    answer: SavedHead[];
  };
  findCheckpoint: { ask: string; answer: SavedCheckpoint | null };
  refersToState: { ask: string; answer: boolean };
  forgetOldStates: { ask: { readonly taskId: string; readonly keep: StatesToKeep }; answer: string[] };
  tidy: { ask: RetentionOrder; answer: boolean };
  close: { ask: null; answer: null };
}

export type CallName = keyof Calls;

export type Ask = { [N in CallName]: readonly [number: number, name: N, what: Calls[N]["ask"]] }[CallName];

/** A `Fault` on its way to the other thread. `code` is `null` for a bug, which no caller is expected to handle. */
export interface PackedFault {
  readonly code: FaultCode | null;
  readonly message: string;
  readonly retryable: boolean;
  readonly detail: string;
}

export type Answer = readonly [number: number, fault: PackedFault | null, result: unknown];
