import type {
  AckReason,
  AckStatus,
  AgentAnswer,
  AgentRegistration,
  AlertSeverity,
  Command,
  ContainmentMeans,
  ContainOutcome,
  DurationMs,
  EpochMs,
  EscalationDecision,
  ExitStatus,
  Heartbeat,
  HolderInfo,
  HolderLoss,
  HolderReport,
  MonoMs,
  NudgeDelivery,
  RecoveryContext,
  RouseEvent,
  StepEvent,
  StopOutcome,
} from "@rouse/contract";
import type { BreakerChanged } from "./breakers/open-breakers.ts";
import type { SavedWork } from "./incident.ts";
import type { AgentRecord } from "./record.ts";
import type { TakenTask } from "./tasks/task-record.ts";

/**
 * A fact that came in, parsed at the edge. Wall-clock times were turned into differences there: core never compares
 * clocks.
 */
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
      /** Whether the agent's own process lives, and how it ended if the holder could still write that down. */
      readonly process: "gone" | "alive";
      readonly exit: ExitStatus | null;
      /** How long ago it ended, where that is known. */
      readonly ago?: DurationMs;
      /** Why the holder is of no use; absent in signals of an earlier version: it is gone. */
      readonly because?: HolderLoss;
    }
  /** The last leftover process of an ended agent without a holder is gone. */
  | { readonly kind: "leftovers-gone"; readonly incarnation: number }
  | OrderSignal
  /** A person's nudge; without a text it is the policy's reminder. */
  | { readonly kind: "nudge-ordered"; readonly actor: string; readonly text: string | null }
  /** Too many of the agent's last tasks failed. */
  | { readonly kind: "reflection-wanted"; readonly failed: number; readonly of: number }
  /** The agent holds a task by a claim, has lost it, or the task is done. */
  | { readonly kind: "assigned"; readonly taskId: string; readonly claim: "held" | "lost" | "done" }
  /** A task that the agent worked on was taken from it. */
  | ({ readonly kind: "task-taken" /** It holds no other. */; readonly alone: boolean } & TakenTask)
  | { readonly kind: "escalation-ordered"; readonly actor: string }
  | {
      readonly kind: "decided";
      readonly escalation: string;
      readonly decision: EscalationDecision;
      readonly actor: string;
      readonly reason: string;
      readonly more: DurationMs | null;
    }
  /** A decision for all agents of one fleet incident. */
  | {
      readonly kind: "decided-for-all";
      readonly decision: Exclude<EscalationDecision, "allow_more_time">;
      readonly actor: string;
    }
  | { readonly kind: "acknowledged"; readonly escalation: string; readonly actor: string }
  | { readonly kind: "answered"; readonly answer: AgentAnswer }
  /** The agent fetches what is to be said to it. This is no beat: an agent that checks in has not promised to beat. */
  | { readonly kind: "checked-in" }
  /** A checkpoint of the agent's task was saved. */
  | { readonly kind: "checkpointed"; readonly checkpoint: string }
  /** One of its circuit breakers changed. */
  | BreakerChanged
  /** A person closed the breaker in front of bringing it back. */
  | { readonly kind: "recovery-reset" };

/** The agent's terminal has a holder. `adopted`: it had one before this monitor came. */
export interface HeldSignal {
  readonly kind: "held";
  readonly hold: HolderInfo;
  readonly adopted: boolean;
  /** How long ago the process was started: long when the monitor was away. */
  readonly ago?: DurationMs;
}

export interface ReportSignal {
  readonly kind: "reported";
  readonly incarnation: number;
  readonly report: HolderReport;
  /** How long ago the holder wrote it: long when the monitor was away. */
  readonly ago: DurationMs;
}

/** A person's order. */
export interface OrderSignal {
  readonly kind: "ordered";
  readonly order: "stop" | "restart";
  readonly key: string;
  readonly actor: string;
  /** Also when the work cannot be saved. */
  readonly force: boolean;
}

export type ActionOutcome =
  | "delivered"
  | { readonly kind: "stop"; readonly stop: StopOutcome }
  /** The order may or may not have arrived: it is decided anew. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "work"; readonly work: SavedWork }
  | { readonly kind: "nudge"; readonly delivery: NudgeDelivery }
  | { readonly kind: "contain"; readonly outcome: ContainOutcome }
  | { readonly kind: "undelivered"; readonly problem: string }
  | { readonly kind: "restarted"; readonly incarnation: number; readonly recovery: RecoveryContext | null }
  | { readonly kind: "not-restarted"; readonly problem: string }
  /** The agent was not started: its program says that the limit still stands, and for how long if it knows. */
  | { readonly kind: "limit-stands"; readonly resetsInMs: DurationMs | null };

export interface HeartbeatSignal {
  readonly kind: "heartbeat";
  readonly beat: Heartbeat;
  readonly checksum: "absent" | "right" | "wrong";
  /** The agent's own clock, compared only with earlier readings of the same clock. */
  readonly agentTime: EpochMs | null;
  /** How far the agent's clock is from ours; for display. */
  readonly skew: DurationMs | null;
  /** How much longer the agent said it would wait; negative when that is over. */
  readonly waitsFor: DurationMs | null;
}

export interface Reply {
  readonly status: AckStatus;
  readonly sequenceNumber: number | null;
  readonly because: AckReason | null;
  readonly commands: readonly Command[];
}

/** What every order about one life of an agent names. */
interface AboutLife {
  readonly key: string;
  readonly agentId: string;
  readonly incarnation: number;
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
  | (AboutLife & {
      readonly kind: "stop-agent";
      readonly grace: DurationMs;
      /** Our own decision, which the kill budget is charged for; a person's order is not. */
      readonly spends: boolean;
      /** A stop of ours is not begun after this; a person's order has no such time. */
      readonly notAfter?: MonoMs;
      /** The agent is stopped for its silence: not if it has shown work since. */
      readonly silentAt?: MonoMs;
    })
  /** The holder need not begin this stop any more. */
  | (AboutLife & {
      readonly kind: "withdraw-stop";
      readonly stop: string;
    })
  | (AboutLife & {
      readonly kind: "restart-agent";
      readonly taskId: string | null;
      /** Why its last life ended, in fixed words. */
      readonly reason: string;
      readonly attempt: number;
      /** The limit should be over: whoever starts the agent asks its program first, where that is possible. */
      readonly afterLimit: boolean;
      /** The agent has finished, so its next life goes on with nothing. */
      readonly fresh?: true;
    })
  | (AboutLife & {
      readonly kind: "save-work";
      readonly within: DurationMs;
    })
  | (AboutLife & {
      readonly kind: "nudge-agent";
      readonly text: string;
      readonly notAfter: MonoMs;
      /** Also into a terminal that a person has open but leaves alone. */
      readonly whenIdle?: true;
    })
  /** The holder need not deliver this nudge any more. */
  | (AboutLife & {
      readonly kind: "withdraw-nudge";
      readonly nudge: string;
    })
  | (AboutLife & {
      readonly kind: "contain-agent";
      readonly how: ContainmentMeans | "let-go";
      /** For the model whose tools are withheld, in fixed words. */
      readonly reason: string;
      /** An order from before the agent was let go does not count after it. */
      readonly decidedAt: MonoMs;
      /** A pause ends by itself, so that no agent is held back by a monitor that is gone. */
      readonly lasts: DurationMs;
    })
  | {
      readonly kind: "escalate";
      readonly key: string;
      readonly agentId: string;
      readonly escalation: string;
      /** A later answer would come too late, so delivery ends. */
      readonly until: MonoMs;
    }
  | {
      readonly kind: "withdraw-escalation";
      readonly key: string;
      readonly agentId: string;
      readonly escalation: string;
      readonly because: string;
    };

/** What is told of a change: events, and actions that carry it to people. */
export interface Told {
  readonly events: readonly RouseEvent[];
  readonly actions: readonly Action[];
}

export const tellRaised = (key: string, agentId: string | null, severity: AlertSeverity, summary: string): Told => ({
  events: [{ type: "ALERT_RAISED", payload: { agentId, alert: key, severity, summary } }],
  actions: [{ kind: "raise-alert", key, agentId, severity, summary }],
});

export const tellResolved = (key: string, agentId: string | null): Told => ({
  events: [{ type: "ALERT_RESOLVED", payload: { agentId, alert: key } }],
  actions: [{ kind: "resolve-alert", key: `${key}/resolved`, agentId }],
});

/** The result of one turn for one agent. */
export interface Turn extends Told {
  readonly record: AgentRecord;
  readonly reply: Reply | null;
}
