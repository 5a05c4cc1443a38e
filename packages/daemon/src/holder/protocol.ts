import {
  ContainmentMeans,
  ContainOutcome,
  ExitStatus,
  Hold,
  HolderRefusal,
  HolderReport,
  NudgeDelivery,
  StopOutcome,
} from "@rouse/contract";
import { z } from "zod";
import { WatchSettings } from "./spec.ts";

/**
 * What goes over a holder's socket. The first message is `hello`, and before it is answered by `welcome` nothing but `refused` comes back: whoever
 * can open the socket and read the secret beside it is the owner. Messages are JSON; output and typed input travel as bytes (see frames.ts).
 */
const Size = z.object({ cols: z.number().int().min(2).max(1000), rows: z.number().int().min(2).max(1000) });

/** Stop the whole tree. */
export const StopOrder = z.object({
  kind: z.literal("stop"),
  /** How long it may take to end by itself. */
  graceMs: z.number().nonnegative().max(600_000),
  /** Not while somebody sits at its terminal. Monitors before this version do not say so; holders before it do not ask. */
  unlessAttached: z.boolean().optional(),
  /** Not begun after this moment of the wall clock. The rest as above. */
  notAfter: z.number().optional(),
  /** Not if the agent has shown work since this moment of the wall clock. */
  silentAt: z.number().optional(),
});
export type StopOrder = z.infer<typeof StopOrder>;
/** Do not begin the stop with this key, whether it came or is still to come. A holder that does not know it hangs up, and does nothing. */
export const WithdrawOrder = z.object({ kind: z.literal("withdraw-stop") });
export type WithdrawOrder = z.infer<typeof WithdrawOrder>;
/** Say something to the agent, if nothing is in the way. */
export const NudgeOrder = z.object({
  kind: z.literal("nudge"),
  text: z.string().max(2000),
  /** Not given after this moment of the wall clock. Said again with one that is past: not at all, if it is not begun. */
  notAfter: z.number(),
  /** Also into a terminal that a person has open, when they have left it alone. Holders before this version do not. */
  whenIdle: z.literal(true).optional(),
});
export type NudgeOrder = z.infer<typeof NudgeOrder>;
/** Hold the agent back, or let it go. */
export const ContainOrder = z.object({
  kind: z.literal("contain"),
  how: z.union([ContainmentMeans, z.literal("let-go")]),
  reason: z.string().max(2000),
  decidedAt: z.number(),
  lastsMs: z.number().nonnegative().max(86_400_000),
});
export type ContainOrder = z.infer<typeof ContainOrder>;
/** Fenced: an old monitor, or an order meant for another life, is refused; a repeated key gets the first answer. */
export const Order = z.discriminatedUnion("kind", [StopOrder, WithdrawOrder, NudgeOrder, ContainOrder]);
export type Order = z.infer<typeof Order>;
export type OutcomeOf<O extends Order> = O extends StopOrder | WithdrawOrder
  ? StopOutcome
  : O extends NudgeOrder
    ? NudgeDelivery
    : ContainOutcome;

export const ToHolder = z.discriminatedUnion("say", [
  /** `monitor: null` is a person at this machine, with a command of theirs. */
  z.object({
    say: z.literal("hello"),
    secret: z.string().max(200),
    monitor: z.object({ store: z.string().min(1).max(100), epoch: z.number().int() }).nullable(),
  }),
  /** A person hands the agent over to another store. */
  z.object({ say: z.literal("adopt"), store: z.string().min(1).max(100) }),
  z.object({ say: z.literal("probe"), id: z.number().int() }),
  /** From a monitor: reports after `after` (0: all that are still there), until the next monitor comes. */
  z.object({ say: z.literal("watch"), epoch: z.number().int(), after: z.number().int() }),
  z.object({ say: z.literal("heard"), seq: z.number().int() }),
  z.object({ say: z.literal("settings"), settings: WatchSettings }),
  /** From the monitor: a report of what is true now. Only to those who said that they know it: others hang up. */
  z.object({ say: z.literal("look") }),
  /** `epoch: null` is a person's order given without a monitor. */
  z.object({
    say: z.literal("order"),
    key: z.string().max(300),
    incarnation: z.number().int(),
    epoch: z.number().int().nullable(),
    order: Order,
  }),
  /** Output from `from` on (`null`: from the oldest kept), as it comes when `follow`. */
  z.object({ say: z.literal("read"), from: z.number().int().nonnegative().nullable(), follow: z.boolean() }),
  z.object({ say: z.literal("attach"), size: Size }),
  z.object({ say: z.literal("resize"), size: Size }),
]);
export type ToHolder = z.infer<typeof ToHolder>;

export const FromHolder = z.discriminatedUnion("say", [
  z.object({ say: z.literal("welcome") }),
  z.object({ say: z.literal("refused"), because: HolderRefusal }),
  z.object({ say: z.literal("adopted") }),
  z.object({
    say: z.literal("here"),
    id: z.number().int(),
    hold: Hold,
    exit: ExitStatus.nullable(),
    outputEnd: z.number(),
    lastReport: z.number().int(),
    /** Whose it is, and the highest epoch it saw. Holders of earlier versions do not tell. */
    store: z.string().nullable().optional(),
    epoch: z.number().int().nullable().optional(),
  }),
  z.object({ say: z.literal("watched"), hold: Hold, knowsLook: z.boolean().optional() }),
  /** The holder has a newer monitor. */
  z.object({ say: z.literal("replaced") }),
  z.object({ say: z.literal("report"), report: HolderReport }),
  z.object({
    say: z.literal("carried-out"),
    key: z.string(),
    outcome: z.union([StopOutcome, NudgeDelivery, ContainOutcome]),
  }),
  z.object({ say: z.literal("attached"), size: Size }),
  /** All that was asked for has been sent. */
  z.object({ say: z.literal("end"), at: z.number() }),
  z.object({ say: z.literal("exited"), exit: ExitStatus }),
  z.object({ say: z.literal("misunderstood"), problem: z.string() }),
]);
export type FromHolder = z.infer<typeof FromHolder>;
