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
import type { SavedWork } from "./incident.ts";
import type { AgentRecord } from "./record.ts";
import type { TakenTask } from "./tasks/task-record.ts";

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
      /** How long ago it ended, where that was written down. */
      readonly ago?: DurationMs;
      /** Why its holder is of no use; absent (saved by an earlier version): it is gone. */
      readonly because?: HolderLoss;
    }
  /** Nobody is there any more of what an agent left whose end is known and whose holder is gone. */
  | { readonly kind: "leftovers-gone"; readonly incarnation: number }
  | OrderSignal
  /** A person's own nudge; the policy's reminder when there is no text. */
  | { readonly kind: "nudge-ordered"; readonly actor: string; readonly text: string | null }
  /** Too many of its last tasks failed. */
  | { readonly kind: "reflection-wanted"; readonly failed: number; readonly of: number }
  /** It holds a task by a claim, has lost it, or the task is done with. */
  | { readonly kind: "assigned"; readonly taskId: string; readonly claim: "held" | "lost" | "done" }
  /** A task it was at work on is no longer its own. */
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
  /** Somebody decided for all whose silence is one incident of the fleet. */
  | {
      readonly kind: "decided-for-all";
      readonly decision: Exclude<EscalationDecision, "allow_more_time">;
      readonly actor: string;
    }
  | { readonly kind: "acknowledged"; readonly escalation: string; readonly actor: string }
  | { readonly kind: "answered"; readonly answer: AgentAnswer }
  /** The agent itself came for what is to be said to it. No beat: who checks in now and then has not promised to. */
  | { readonly kind: "checked-in" }
  /** A checkpoint of its task was saved. */
  | { readonly kind: "checkpointed"; readonly checkpoint: string };

/** An agent's terminal has a holder. `adopted`: it had one before this monitor came. */
export interface HeldSignal {
  readonly kind: "held";
  readonly hold: HolderInfo;
  readonly adopted: boolean;
  /** How long before now its process was started: long when the monitor was away. */
  readonly ago?: DurationMs;
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
  /** Also when its work cannot be saved. */
  readonly force: boolean;
}

export type ActionOutcome =
  | "delivered"
  | { readonly kind: "stop"; readonly stop: StopOutcome }
  /** Nobody knows whether the order arrived: it is decided anew. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "work"; readonly work: SavedWork }
  | { readonly kind: "nudge"; readonly delivery: NudgeDelivery }
  | { readonly kind: "contain"; readonly outcome: ContainOutcome }
  | { readonly kind: "undelivered"; readonly problem: string }
  | { readonly kind: "restarted"; readonly incarnation: number; readonly recovery: RecoveryContext | null }
  | { readonly kind: "not-restarted"; readonly problem: string }
  /** It was not started: its program says that its limit still stands, and for how long, where it knows. */
  | { readonly kind: "limit-stands"; readonly resetsInMs: DurationMs | null };

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
      /** Our own decision, which the budget is charged for; a person's order is not. */
      readonly spends: boolean;
      /** Not begun after this: our own decision is valid for moments. A person's order has none. */
      readonly notAfter?: MonoMs;
      /** It is stopped for its silence: not if it has shown work since. */
      readonly silentAt?: MonoMs;
    })
  /** The holder need not begin a stop any more that it may not have heard of yet. */
  | (AboutLife & {
      readonly kind: "withdraw-stop";
      readonly stop: string;
    })
  | (AboutLife & {
      readonly kind: "restart-agent";
      readonly taskId: string | null;
      /** In fixed words: why its last life ended. */
      readonly reason: string;
      readonly attempt: number;
      /** Its provider's limit should be over by now: whoever starts it asks first whether it is, where that can be asked. */
      readonly afterLimit: boolean;
      /** It has finished what it did: its next life goes on with nothing. */
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
      /** Also into a terminal that a person has open, when they have left it alone. */
      readonly whenIdle?: true;
    })
  /** A nudge that its holder may still have to give is not wanted any more. */
  | (AboutLife & {
      readonly kind: "withdraw-nudge";
      readonly nudge: string;
    })
  | (AboutLife & {
      readonly kind: "contain-agent";
      readonly how: ContainmentMeans | "let-go";
      /** In fixed words, for whoever's tools are withheld. */
      readonly reason: string;
      /** An order that was decided before the agent was let go does not count after it. */
      readonly decidedAt: MonoMs;
      /** A pause ends by itself after so long: nobody is held back for good by a monitor that is gone. */
      readonly lasts: DurationMs;
    })
  | {
      readonly kind: "escalate";
      readonly key: string;
      readonly agentId: string;
      readonly escalation: string;
      /** After it, an answer would come too late: no need to go on delivering. */
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

/** What one turn for one agent comes to. */
export interface Turn extends Told {
  readonly record: AgentRecord;
  readonly reply: Reply | null;
}
