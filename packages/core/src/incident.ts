import type {
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
} from "@rouse/contract";
import type { Mark } from "./facts.ts";

/** One open problem of one agent: what it is, and how far up the ladder it has come. */
export interface Incident {
  readonly id: string;
  /** Of which life. */
  readonly incarnation: number;
  readonly illness: Illness;
  readonly cause: HealthReason;
  readonly severity: Severity;
  readonly openedAt: MonoMs;
  /** Nudges for this that were sent. */
  readonly nudges: number;
  /** Nudges for this that could not be given to it: no attempts, and nothing it could have answered. */
  readonly undelivered: number;
  /** How often somebody was asked. */
  readonly escalations: number;
  readonly stage: Stage;
}

/** What an agent was nudged for, when, and at what state of the work, so that what came after it can be told apart. */
export interface Reached {
  readonly cause: FindingKind | null;
  /** `lost`: how many of its beats had been lost by then. */
  readonly sent: Mark & { readonly novel: number; readonly lost: number };
}

/** A nudge of ours and what it was for, to tell who falls back into what it was nudged out of. */
export interface NudgeSpent {
  readonly cause: HealthReason;
  readonly at: MonoMs;
}

/** Where an incident stands. Each stage has a deadline, a signal it waits for, or both: none waits for ever. */
export type Stage =
  | { readonly kind: "open" }
  | { readonly kind: "nudged" }
  | { readonly kind: "escalated"; readonly escalation: Escalation }
  | { readonly kind: "more-time"; readonly until: MonoMs }
  /** It is to be stopped as soon as the gate allows; `record.ending.stop` is the life of the order itself. */
  | {
      readonly kind: "stopping";
      readonly cause: StopCause;
      /** Whose decision it was. */
      readonly actor: string;
      readonly next: "bring-back" | "hand-off";
      /** Orders of which nobody knows whether they arrived. */
      readonly interrupted: number;
      /** Since when the gate is shut for a reason that should end by itself; `told`: a person knows that it does not. */
      readonly shut: { readonly since: MonoMs; readonly told: boolean } | null;
    }
  /** Its process is over. `pressed`: the orchestrator wants it back although the budget is used up. `notBefore`: it wants that to wait. */
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
  /** Since when it is SEV-1: the time a person has to acknowledge it counts from then. */
  readonly severeSince: MonoMs | null;
  readonly openedAt: MonoMs;
  readonly until: MonoMs;
  /** How often the same was asked before and nobody answered. */
  readonly askedBefore: number;
  /** What happens without an answer. `keep`: it runs on, and somebody is asked again. */
  readonly otherwise:
    | { readonly kind: "stop" }
    | { readonly kind: "keep" }
    | { readonly kind: "hand-over"; readonly because: EndingReason };
  readonly delivery: "queued" | "delivered" | "failed";
  readonly acknowledged: { readonly actor: string; readonly at: MonoMs } | null;
  /** It was told that no person acknowledged it in time. */
  readonly overdueTold: boolean;
}

/** What is in other hands now. Nobody but them acts on it until the agent is well, or lives anew. */
export interface HandedOver {
  readonly incident: string;
  readonly illness: Illness;
  readonly because: EndingReason;
  readonly at: MonoMs;
  /** The agent was not ill: somebody had a question about it and nobody answered, or its task went to somebody else. */
  readonly asked: boolean;
  /** Its calls and tokens then, and how often it was told since what it has spent; absent in records of earlier versions. */
  readonly burn?: { readonly calls: number; readonly tokens: number; readonly told: number };
}

/** The life of one attempt to hold an agent back that goes on in circles after it was handed over. */
export interface ContainLife {
  readonly key: string;
  /** Of which hand-over, and the how manyeth order for it. */
  readonly incident: string;
  readonly number: number;
  readonly how: ContainmentMeans;
  readonly state: "ordered" | "on" | "refused" | "let-go";
  /** When that was decided, or when it was let go. */
  readonly at: MonoMs;
  /** That it is held back was told: a pause is ordered anew every now and then, because it ends by itself. */
  readonly told: boolean;
}

export const isHeldBack = (containment: ContainLife | null): containment is ContainLife =>
  containment !== null && (containment.state === "ordered" || containment.state === "on");

/** Whose end is settled: nobody need be called for it. */
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
  /** That it was seen was said by the agent itself, not by a program around it. */
  readonly receipt: boolean;
  readonly sent: Reached["sent"] | null;
  /** When it was seen; absent before, and in what an earlier version saved. */
  readonly seen?: Reached["sent"];
  /** Its holder was asked to let it be, and has not said yet what became of it. */
  readonly withdrawn?: true;
  /** From then on nobody waits for it any more. */
  readonly expiresAt: MonoMs;
  /** For how long of the time since it was queued nobody was there to see what came of it. */
  readonly unseen: DurationMs;
}

/** One attempt to bring an agent back, for the budget. */
export interface RecoveryAttempt {
  readonly taskId: string | null;
  readonly at: MonoMs;
}

/** What a replacement was given to go on with. */
export interface Recovered {
  readonly context: RecoveryContext;
  /** The incarnation that was given it. */
  readonly life: number;
  /** The replacement was told by an acknowledgement. */
  readonly told: boolean;
}

/** Whether the agent's work was saved before it is stopped. */
export type SavedWork =
  | { readonly kind: "saved"; readonly commit: string; readonly changed: number }
  /** Nothing that could be saved: its folder is under no version control. */
  | { readonly kind: "nothing-to-save" }
  | { readonly kind: "not-saved"; readonly problem: string };

/** The life of one order to stop: decided and written down, the work saved, ordered, and answered by the hands. */
export interface StopLife {
  readonly key: string;
  readonly cause: StopCause;
  readonly actor: string;
  readonly decidedAt: MonoMs;
  /** A person asked for it to be started again afterwards. */
  readonly thenRestart: boolean;
  /** A person wants it stopped even if its work cannot be saved. */
  readonly force: boolean;
  readonly saved: SavedWork | null;
  /** The hands were told to stop it. */
  readonly orderedAt: MonoMs | null;
  /** The hands were told that it is not wanted any more, before they had answered. */
  readonly recalled?: true;
  /** What it rested on at that moment. */
  readonly evidence: readonly string[];
  readonly outcome: StopOutcome | null;
}

/** The life of one order to start again. */
export interface RestartLife {
  readonly key: string;
  readonly because: RestartCause;
  readonly attempt: number;
  /** Its last life ended at a limit that stood: while it is being started, that end is no matter for anybody, whoever ordered the start. */
  readonly outOfLimit?: true;
  /** Since when its new life would have been heard of, had it come; `null` while that could not be said. */
  readonly awaitedSince: MonoMs | null;
  readonly problem: string | null;
}
