import type {
  AckReason,
  AckStatus,
  AgentRegistration,
  AlertSeverity,
  Command,
  DurationMs,
  EpochMs,
  ExitStatus,
  Heartbeat,
  Hold,
  HolderReport,
  RouseEvent,
  StepEvent,
  StopOutcome,
} from "@rouse/contract";
import type { AgentRecord } from "./record.ts";

/** A fact that came in, parsed at the edge. Wall-clock times were turned into differences there: core never compares clocks. */
export type Signal =
  | { readonly kind: "registered"; readonly registration: AgentRegistration }
  | HeartbeatSignal
  | { readonly kind: "wake" }
  | { readonly kind: "action-outcome"; readonly key: string; readonly outcome: ActionOutcome }
  | { readonly kind: "stepped"; readonly events: readonly StepEvent[] }
  | HeldSignal
  | ReportSignal
  | {
      readonly kind: "holder-lost";
      readonly incarnation: number;
      /** What became of the agent's own process, and how it ended if the holder could still write that down. */
      readonly process: "gone" | "alive";
      readonly exit: ExitStatus | null;
    }
  | OrderSignal;

/** An agent's terminal has a holder. `adopted`: it had one before this monitor came. */
export interface HeldSignal {
  readonly kind: "held";
  readonly hold: Hold;
  readonly adopted: boolean;
}

export interface ReportSignal {
  readonly kind: "reported";
  readonly incarnation: number;
  readonly report: HolderReport;
  /** How long before now the holder wrote it: long when the monitor was away. */
  readonly ago: DurationMs;
}

/** A person's word. */
export interface OrderSignal {
  readonly kind: "ordered";
  readonly order: "stop" | "restart";
  readonly key: string;
  readonly actor: string;
}

export type ActionOutcome =
  | "delivered"
  | { readonly kind: "stop"; readonly stop: StopOutcome }
  | { readonly kind: "restarted"; readonly incarnation: number }
  | { readonly kind: "not-restarted"; readonly problem: string };

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
  | { readonly kind: "resolve-alert"; readonly key: string; readonly agentId: string | null }
  | {
      readonly kind: "stop-agent";
      readonly key: string;
      readonly agentId: string;
      readonly incarnation: number;
      readonly grace: DurationMs;
    }
  | { readonly kind: "restart-agent"; readonly key: string; readonly agentId: string; readonly incarnation: number };

/** What one turn for one agent comes to. */
export interface Turn {
  readonly record: AgentRecord;
  readonly reply: Reply | null;
  readonly events: readonly RouseEvent[];
  readonly actions: readonly Action[];
}
