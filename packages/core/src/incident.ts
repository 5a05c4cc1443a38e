import type {
  Breaker,
  ContainmentMeans,
  DurationMs,
  EndingReason,
  EscalationReason,
  FindingKind,
  HealthReason,
  Illness,
  MonoMs,
  NudgeChannel,
  NudgeState,
  NudgeTemplate,
  RecoveryContext,
  RestartCause,
  Severity,
  StopCause,
  StopOutcome,
  Ticket,
} from "@rouse/contract";
import type { Mark } from "./facts.ts";

/** One open problem of one agent: what it is, and how far up the ladder it has come. */
export interface Incident {
  readonly id: string;
  /** The life that the incident is about. */
  readonly incarnation: number;
  readonly illness: Illness;
  readonly cause: HealthReason;
  readonly severity: Severity;
  readonly openedAt: MonoMs;
  /** Nudges sent for this incident. */
  readonly nudges: number;
  /** Nudges that could not be delivered: they are no attempts, and nothing to answer. */
  readonly undelivered: number;
  /** How often somebody was asked. */
  readonly escalations: number;
  readonly stage: Stage;
}

/** What an agent was nudged for, when, and the state of its work then, to tell what came after it. */
export interface Reached {
  readonly cause: FindingKind | null;
  /** `lost`: how many of its beats were lost by then. */
  readonly sent: Mark & { readonly novel: number; readonly lost: number };
}

/** A nudge of ours and its cause, to notice an agent that falls back into it. */
export interface NudgeSpent {
  readonly cause: HealthReason;
  readonly at: MonoMs;
}

/** The stage of an incident. Each has a deadline, a signal it waits for, or both: none waits for ever. */
export type Stage =
  | { readonly kind: "open" }
  | { readonly kind: "nudged" }
  | { readonly kind: "escalated"; readonly escalation: Escalation }
  | { readonly kind: "more-time"; readonly until: MonoMs }
  /** The agent is stopped as soon as the gate allows; `record.ending.stop` is the order itself. */
  | {
      readonly kind: "stopping";
      readonly cause: StopCause;
      /** Whose decision it was. */
      readonly actor: string;
      readonly next: "bring-back" | "hand-off";
      /** Orders that may or may not have arrived. */
      readonly interrupted: number;
      /**
       * Since when the gate is shut for a reason that should end by itself; `told`: a person knows that it does not.
       */
      readonly shut: { readonly since: MonoMs; readonly told: boolean } | null;
    }
  /** The process is over. `pressed`: the orchestrator wants it back beyond the budget. `notBefore`: but not sooner. */
  | {
      readonly kind: "down";
      readonly by: "restart" | "recovery";
      readonly pressed: boolean;
      readonly notBefore: MonoMs | null;
    }
  | { readonly kind: "probation"; readonly until: MonoMs };

/** One question to the orchestrator. */
export interface Escalation {
  readonly id: string;
  readonly reason: EscalationReason;
  readonly severity: Severity;
  /** Since when it is SEV-1. The time to acknowledge it counts from then. */
  readonly severeSince: MonoMs | null;
  readonly openedAt: MonoMs;
  readonly until: MonoMs;
  /** How often the same question went unanswered before. */
  readonly askedBefore: number;
  /** What follows without an answer. `keep`: the agent runs on, and somebody is asked again. */
  readonly otherwise:
    | { readonly kind: "stop" }
    | { readonly kind: "keep" }
    | { readonly kind: "hand-over"; readonly because: EndingReason };
  readonly delivery: "queued" | "delivered" | "failed";
  readonly acknowledged: { readonly actor: string; readonly at: MonoMs } | null;
  /** A person was told that nobody acknowledged it in time. */
  readonly overdueTold: boolean;
}

/** A matter in other hands. Rouse does not act on it until the agent is well, or lives anew. */
export interface HandedOver {
  readonly incident: string;
  readonly illness: Illness;
  readonly because: EndingReason;
  readonly at: MonoMs;
  /** The agent was not ill: a question about it went unanswered, or its task went to somebody else. */
  readonly asked: boolean;
  /** Calls and tokens at the hand-over, and how often their growth was told; absent in records of earlier versions. */
  readonly burn?: { readonly calls: number; readonly tokens: number; readonly told: number };
}

/** One attempt to hold back an agent that goes round in circles after its hand-over. */
export interface ContainLife {
  readonly key: string;
  /** The hand-over it is for, and the number of the order. */
  readonly incident: string;
  readonly number: number;
  readonly how: ContainmentMeans;
  readonly state: "ordered" | "on" | "refused" | "let-go";
  /** When it was ordered or let go. */
  readonly at: MonoMs;
  /** A pause ends by itself and is ordered anew, but told once. */
  readonly told: boolean;
}

export const isHeldBack = (containment: ContainLife | null): containment is ContainLife =>
  containment !== null && (containment.state === "ordered" || containment.state === "on");

/** The end is settled: nobody need be called for it. */
export const isSettled = ({ because }: Pick<HandedOver, "because">): boolean =>
  because === "ended-by-person" || because === "handed-off";

/** The life of one nudge. */
export interface NudgeLife {
  readonly id: string;
  readonly attempt: number;
  readonly channel: NudgeChannel;
  readonly template: NudgeTemplate;
  readonly cause: FindingKind | null;
  readonly text: string;
  readonly actor: string;
  readonly queuedAt: MonoMs;
  readonly state: NudgeState;
  /** The agent itself confirmed the nudge, not a program around it. */
  readonly receipt: boolean;
  readonly sent: Reached["sent"] | null;
  /** When it was seen; absent before, and in records of an earlier version. */
  readonly seen?: Reached["sent"];
  /** The holder was asked to drop it and has not answered yet. */
  readonly withdrawn?: true;
  /** After this nobody waits for it any more. */
  readonly expiresAt: MonoMs;
  /** How much of the time since it was queued nobody could see the agent. */
  readonly unseen: DurationMs;
}

/** One attempt to bring an agent back, for the budget. */
export interface RecoveryAttempt {
  readonly taskId: string | null;
  readonly at: MonoMs;
}

/** The breaker in front of our own attempts to bring an agent back. */
export interface RecoveryGate {
  readonly breaker: Breaker;
  /** When it came into this state. */
  readonly since: MonoMs;
  readonly trips: number;
  /** The attempt whose end is not known yet, and the life it was to follow. */
  readonly attempt: { readonly ticket: Ticket; readonly after: number } | null;
}

/** What a replacement was given to go on with. */
export interface Recovered {
  readonly context: RecoveryContext;
  /** The incarnation that was given the context. */
  readonly life: number;
  /** The replacement got it with an acknowledgement. */
  readonly told: boolean;
}

/** Whether the agent's work was saved before it is stopped. */
export type SavedWork =
  | { readonly kind: "saved"; readonly commit: string; readonly changed: number }
  /** The folder is under no version control. */
  | { readonly kind: "nothing-to-save" }
  | { readonly kind: "not-saved"; readonly problem: string };

/** One order to stop: decided, the work saved, ordered, and answered. */
export interface StopLife {
  readonly key: string;
  readonly cause: StopCause;
  readonly actor: string;
  readonly decidedAt: MonoMs;
  /** A person wants the agent started again afterwards. */
  readonly thenRestart: boolean;
  /** A person wants the stop even if the work cannot be saved. */
  readonly force: boolean;
  readonly saved: SavedWork | null;
  /** When the holder was told to stop the agent. */
  readonly orderedAt: MonoMs | null;
  /** The holder was told, before it answered, that the stop is not wanted any more. */
  readonly recalled?: true;
  /** The evidence at that moment. */
  readonly evidence: readonly string[];
  readonly outcome: StopOutcome | null;
}

/** The life of one order to start again. */
export interface RestartLife {
  readonly key: string;
  readonly because: RestartCause;
  readonly attempt: number;
  /** The last life ended at a standing limit: while the agent is being started, that end is nobody's matter. */
  readonly outOfLimit?: true;
  /** Since when the new life should have been heard of; `null` while that cannot be said. */
  readonly awaitedSince: MonoMs | null;
  readonly problem: string | null;
}
