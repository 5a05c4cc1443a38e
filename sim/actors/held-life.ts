import type { ExitStatus, RecoveryContext } from "@rouse/contract";
import type { QuietLook, QuietName } from "./quiet-kinds.ts";

/**
 * What is really the matter with it, known only to the world. `request` and `tool`: a call that a stream told of hangs for ever, and nothing of it
 * lives or moves any more.
 */
export interface HeldSickness {
  readonly kind: "stuck" | "hung" | "looping" | "failing" | "request" | "tool";
  readonly since: number;
  /** Its processes look at work although nothing comes of it. */
  readonly busy: boolean;
  /** How likely it comes round when it is spoken to. */
  readonly reacts: number;
}

export type HeldMode =
  | { readonly kind: "working" | "thinking" | "asking"; readonly until: number }
  /** Quiet and busy, without any announcement. */
  | { readonly kind: "building"; readonly since: number; readonly until: number }
  | {
      readonly kind: "tool";
      readonly since: number;
      readonly until: number;
      readonly id: string;
      readonly timeoutSeconds: number;
      readonly busy: boolean;
    }
  /** `asks`: it stands at its prompt. */
  | { readonly kind: "limited"; readonly until: number; readonly asks?: boolean }
  | QuietMode;

/** At work, and as quiet about it as its kind is. */
export interface QuietMode {
  readonly kind: "quiet";
  readonly as: QuietName;
  readonly since: number;
  readonly until: number;
  readonly look: QuietLook;
  readonly id: string;
  readonly timeoutSeconds: number | null;
  /** What its screen shows is recognised. */
  readonly recognised: boolean;
}

/** What becomes of a program at its limit. */
export type LimitEnd = "dies" | "waits" | "continues";

/** A provider's limit as it really is. */
export interface WorldLimit {
  readonly since: number;
  /** The reset that was announced last, and whether the announcement named a time. */
  resetAt: number;
  named: boolean;
  /** The real end: others may have used up the quota that came back at the reset. */
  readonly overAt: number;
  readonly end: LimitEnd;
  readonly incarnation: number;
  /** Since when the monitor knows of it. */
  knownAt: number | null;
  /** Somebody has decided what becomes of it. */
  left: boolean;
}

/** One life of a held agent. */
export interface HeldLife {
  readonly incarnation: number;
  readonly pid: number;
  readonly startedAt: number;
  readonly taskId: string;
  readonly foreground: boolean;
  readonly begunBy: "rouse" | "person";
  readonly context: RecoveryContext | null;
  mode: HeldMode;
  sickness: HeldSickness | null;
  /** The sickness that is over; `seenAt`: when the monitor had saved every sign of that. */
  cure: { readonly at: number; readonly was: HeldSickness; awaits: Set<string>; seenAt: number | null } | null;
  /** People at its terminal, besides the one it was started from. */
  visitors: number;
  exit: (ExitStatus & { readonly at: number }) | null;
  /** It has done what it was there for. */
  finished: boolean;
  sequence: number;
  seen: string[];
  /** Nudges it has read itself and will answer with its next beat. */
  answers: string[];
  /** Beats sent during one tool call. Enough of them show that a timer sends them. */
  beatsThroughTool: number;
  timerKnown: boolean;
}
