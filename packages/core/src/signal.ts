import type {
  AckReason,
  AckStatus,
  AgentRegistration,
  AlertSeverity,
  Command,
  DurationMs,
  EpochMs,
  Heartbeat,
  RouseEvent,
} from "@rouse/contract";
import type { AgentRecord } from "./record.ts";

/** A fact that came in, parsed at the edge. Wall-clock times were turned into differences there: core never compares clocks. */
export type Signal =
  | { readonly kind: "registered"; readonly registration: AgentRegistration }
  | HeartbeatSignal
  | { readonly kind: "wake" }
  | { readonly kind: "action-outcome"; readonly key: string; readonly outcome: "delivered" };

export interface HeartbeatSignal {
  readonly kind: "heartbeat";
  readonly beat: Heartbeat;
  readonly checksum: "absent" | "right" | "wrong";
  /** The agent's own clock, compared only with earlier readings of the same clock. */
  readonly agentTime: EpochMs | null;
  /** How far the agent's clock is from ours; for display. */
  readonly skew: DurationMs | null;
  /** How much longer it said it would wait; negative when it should be over by now. */
  readonly waitsFor: DurationMs | null;
}

export interface Reply {
  readonly status: AckStatus;
  readonly sequenceNumber: number | null;
  readonly because: AckReason | null;
  readonly commands: readonly Command[];
}

/** Something for the hands to do. The key makes doing it twice the same as doing it once. */
export type Action =
  | {
      readonly kind: "raise-alert";
      readonly key: string;
      readonly agentId: string | null;
      readonly severity: AlertSeverity;
      readonly summary: string;
    }
  | { readonly kind: "resolve-alert"; readonly key: string; readonly agentId: string | null };

/** What one turn for one agent comes to. */
export interface Turn {
  readonly record: AgentRecord;
  readonly reply: Reply | null;
  readonly events: readonly RouseEvent[];
  readonly actions: readonly Action[];
}
