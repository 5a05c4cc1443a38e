import type {
  ContainmentMeans,
  ContainOutcome,
  ExitStatus,
  HolderInfo,
  HolderRefusal,
  HolderReport,
  NudgeDelivery,
  StopOutcome,
} from "@rouse/contract";
import type { MonitorId } from "./admit-monitors.ts";
import type { WatchSettings } from "./spec.ts";

// What goes over a holder's socket. The first message is `hello`, and before it is answered by `welcome` nothing but `refused` comes back: whoever can
// open the socket and read the secret beside it is the owner. Messages are JSON; output and typed input travel as bytes (see frames.ts). A holder reads
// them with read-message.ts, a monitor with the schema in connect-holder.ts.

/** Both from 2 to 1000. */
export interface Size {
  readonly cols: number;
  readonly rows: number;
}

/** Stop the whole tree. */
export interface StopOrder {
  readonly kind: "stop";
  /** How long it may take to end by itself; ten minutes at most. */
  readonly graceMs: number;
  /** Not while somebody sits at its terminal. Monitors before this version do not say so; holders before it do not ask. */
  readonly unlessAttached?: boolean | undefined;
  /** Not begun after this moment of the wall clock. The rest as above. */
  readonly notAfter?: number | undefined;
  /** Not if the agent has shown work since this moment of the wall clock. */
  readonly silentAt?: number | undefined;
}

/** Do not begin the stop with this key, whether it came or is still to come. A holder that does not know it hangs up, and does nothing. */
export interface WithdrawOrder {
  readonly kind: "withdraw-stop";
}

/** Say something to the agent, if nothing is in the way. */
export interface NudgeOrder {
  readonly kind: "nudge";
  /** At most 2000 characters. */
  readonly text: string;
  /** Not given after this moment of the wall clock. Said again with one that is past: not at all, if it is not begun. */
  readonly notAfter: number;
  /** Also into a terminal that a person has open, when they have left it alone. Holders before this version do not. */
  readonly whenIdle?: true | undefined;
}

/** Hold the agent back, or let it go. */
export interface ContainOrder {
  readonly kind: "contain";
  readonly how: ContainmentMeans | "let-go";
  readonly reason: string;
  readonly decidedAt: number;
  /** A day at most. */
  readonly lastsMs: number;
}

/** Fenced: an old monitor, or an order meant for another life, is refused; a repeated key gets the first answer. */
export type Order = StopOrder | WithdrawOrder | NudgeOrder | ContainOrder;
export type OutcomeOf<O extends Order> = O extends StopOrder | WithdrawOrder
  ? StopOutcome
  : O extends NudgeOrder
    ? NudgeDelivery
    : ContainOutcome;

export type ToHolder =
  /** `monitor: null` is a person at this machine, with a command of theirs. */
  | { readonly say: "hello"; readonly secret: string; readonly monitor: MonitorId | null }
  /** A person hands the agent over to another store. */
  | { readonly say: "adopt"; readonly store: string }
  | { readonly say: "probe"; readonly id: number }
  /** From a monitor: reports after `after` (0: all that are still there), until the next monitor comes. */
  | { readonly say: "watch"; readonly epoch: number; readonly after: number }
  | { readonly say: "heard"; readonly seq: number }
  | { readonly say: "settings"; readonly settings: WatchSettings }
  /** From the monitor: a report of what is true now. Only to those who said that they know it: others hang up. */
  | { readonly say: "look" }
  /** `epoch: null` is a person's order given without a monitor. */
  | {
      readonly say: "order";
      readonly key: string;
      readonly incarnation: number;
      readonly epoch: number | null;
      readonly order: Order;
    }
  /** Output from `from` on (`null`: from the oldest kept), as it comes when `follow`. */
  | { readonly say: "read"; readonly from: number | null; readonly follow: boolean }
  | { readonly say: "attach"; readonly size: Size }
  | { readonly say: "resize"; readonly size: Size };

export type FromHolder =
  | { readonly say: "welcome" }
  | { readonly say: "refused"; readonly because: HolderRefusal }
  | { readonly say: "adopted" }
  | {
      readonly say: "here";
      readonly id: number;
      readonly hold: HolderInfo;
      readonly exit: ExitStatus | null;
      readonly outputEnd: number;
      readonly lastReport: number;
      /** Whose it is, and the highest epoch it saw. Holders of earlier versions do not tell. */
      readonly store?: string | null | undefined;
      readonly epoch?: number | null | undefined;
    }
  | { readonly say: "watched"; readonly hold: HolderInfo; readonly knowsLook?: boolean | undefined }
  /** The holder has a newer monitor. */
  | { readonly say: "replaced" }
  | { readonly say: "report"; readonly report: HolderReport }
  | {
      readonly say: "carried-out";
      readonly key: string;
      readonly outcome: StopOutcome | NudgeDelivery | ContainOutcome;
    }
  | { readonly say: "attached"; readonly size: Size }
  /** All that was asked for has been sent. */
  | { readonly say: "end"; readonly at: number }
  | { readonly say: "exited"; readonly exit: ExitStatus }
  | { readonly say: "misunderstood"; readonly problem: string };
