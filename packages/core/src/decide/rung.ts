import type {
  EndingReason,
  EscalationReason,
  FindingKind,
  HealthReason,
  Illness,
  IncidentEnding,
  MonoMs,
  NudgeChannel,
  RecoveryHold,
  StopCause,
  StopRefusal,
} from "@rouse/contract";
import type { Escalation } from "../incident.ts";

/** The next step on the ladder for one agent. */
export type Rung =
  | { readonly kind: "open"; readonly illness: Illness; readonly cause: HealthReason }
  | { readonly kind: "turn"; readonly illness: Illness; readonly cause: HealthReason }
  | { readonly kind: "close"; readonly ending: IncidentEnding; readonly because: EndingReason }
  | { readonly kind: "take-back" }
  | {
      readonly kind: "nudge";
      readonly channel: NudgeChannel;
      readonly attempt: number;
      readonly cause: FindingKind | null;
    }
  | { readonly kind: "escalate"; readonly reason: EscalationReason; readonly otherwise: Escalation["otherwise"] }
  /** Nobody answered: the agent runs on, and somebody is asked again with more time. */
  | { readonly kind: "ask-again"; readonly otherwise: Escalation["otherwise"] }
  | { readonly kind: "tell-overdue" }
  | { readonly kind: "stop"; readonly cause: StopCause }
  | { readonly kind: "save-work"; readonly cause: StopCause }
  | { readonly kind: "order-stop" }
  | { readonly kind: "withdraw-stop"; readonly because: StopRefusal }
  /** The agent is well again while the order is out: the holder is told, and its answer is waited for. */
  | { readonly kind: "recall-stop" }
  | { readonly kind: "refuse-stop"; readonly because: StopRefusal; readonly cause: StopCause }
  /** The gate stays shut for longer than its cause should last: a person is told. */
  | { readonly kind: "tell-shut"; readonly because: StopRefusal }
  | { readonly kind: "go-down"; readonly by: "restart" | "recovery" }
  | { readonly kind: "revive"; readonly by: "restart" | "recovery"; readonly attempt: number }
  | { readonly kind: "give-up"; readonly by: "restart" | "recovery"; readonly attempts: number }
  | { readonly kind: "watch-closely" }
  /** `because`: what holds back an agent that is down. */
  | { readonly kind: "wait"; readonly until: MonoMs | null; readonly because?: RecoveryHold };

export const wait = (until: MonoMs | null = null): Rung => ({ kind: "wait", until });

export const holdBack = (because: RecoveryHold, until: MonoMs | null = null): Rung => ({
  kind: "wait",
  until,
  because,
});

export const recovered = (because: EndingReason): Rung => ({ kind: "close", ending: "recovered", because });

export const handOver = (because: EndingReason): Rung => ({ kind: "close", ending: "handed-to-a-person", because });
