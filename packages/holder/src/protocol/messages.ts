import type {
  AgentFamily,
  ContainmentMeans,
  ContainOutcome,
  ExitStatus,
  HolderInfo,
  HolderRefusal,
  HolderReport,
  NudgeDelivery,
  PatternKind,
  StopOutcome,
  UserPattern,
} from "@rouse/contract";
import type { MonitorId } from "./admit-monitors.ts";
import type { WatchSettings } from "./spec.ts";

// The messages on a holder's socket. The first is `hello`; until it is answered by `welcome`, nothing but `refused`
// comes back: a peer that can open the socket and read the secret beside it is the owner. Messages are JSON; output and
// typed input travel as bytes (see frames.ts). A holder reads messages with `readMessage`, a monitor with the schema in
// connect-holder.ts.

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
  /** Not while a terminal is attached. Earlier versions do not send it, and ignore it. */
  readonly unlessAttached?: boolean | undefined;
  /** Not begun after this moment of the wall clock. Versions as above. */
  readonly notAfter?: number | undefined;
  /** Not if the agent has shown work since this moment of the wall clock. */
  readonly silentAt?: number | undefined;
}

/** Do not begin the stop with this key, whether it came or is to come. Holders of earlier versions hang up. */
interface WithdrawOrder {
  readonly kind: "withdraw-stop";
}

/** Give the agent a message, if nothing is in the way. */
export interface NudgeOrder {
  readonly kind: "nudge";
  /** At most 2000 characters. */
  readonly text: string;
  /** Not given after this moment of the wall clock. Sent again with a moment that is past, it withdraws the nudge. */
  readonly notAfter: number;
  /** Also into a terminal that a person has open but left alone. Holders of earlier versions do not do that. */
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

/**
 * Orders are fenced: an order of an old monitor, or for another life, is refused. A repeated key gets the first answer.
 */
export type Order = StopOrder | WithdrawOrder | NudgeOrder | ContainOrder;
export type OutcomeOf<O extends Order> = O extends StopOrder | WithdrawOrder
  ? StopOutcome
  : O extends NudgeOrder
    ? NudgeDelivery
    : ContainOutcome;

export type ToHolder =
  /** `monitor: null`: a command that a person runs on this machine. */
  | { readonly say: "hello"; readonly secret: string; readonly monitor: MonitorId | null }
  /** A person hands the agent over to another store. */
  | { readonly say: "adopt"; readonly store: string }
  | { readonly say: "probe"; readonly id: number }
  /** A monitor asks for reports after `after` (0: all that are kept), until the next monitor comes. */
  | { readonly say: "watch"; readonly epoch: number; readonly after: number }
  | { readonly say: "heard"; readonly seq: number }
  | { readonly say: "settings"; readonly settings: WatchSettings }
  /** The monitor asks for a report of what is true now. Sent only to holders that said `knowsLook`: others hang up. */
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
      /** The store it belongs to, and the highest epoch it saw. Holders of earlier versions do not send them. */
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

type Fields = Readonly<Record<string, unknown>>;

/**
 * A message to a holder, or `null` when it is none. Checked by hand, and tested to agree with a schema: the library
 * that reads schemas would take a quarter of a holder's memory.
 */
export function readMessage(value: unknown): ToHolder | null {
  if (!isObject(value)) return null;
  return isMessage(value) ? (value as unknown as ToHolder) : null;
}

function isMessage(message: Fields): boolean {
  switch (message["say"] as ToHolder["say"]) {
    case "hello":
      return isText(message["secret"], 200) && (message["monitor"] === null || isMonitor(message["monitor"]));
    case "adopt":
      return isStore(message["store"]);
    case "probe":
      return isWhole(message["id"]);
    case "watch":
      return isWhole(message["epoch"]) && isWhole(message["after"]);
    case "heard":
      return isWhole(message["seq"]);
    case "settings":
      return isSettings(message["settings"]);
    case "look":
      return true;
    case "order":
      return (
        isText(message["key"], 300) &&
        isWhole(message["incarnation"]) &&
        (message["epoch"] === null || isWhole(message["epoch"])) &&
        isOrder(message["order"])
      );
    case "read":
      return (message["from"] === null || isWhole(message["from"], 0)) && typeof message["follow"] === "boolean";
    case "attach":
    case "resize":
      return isSize(message["size"]);
  }
  return false;
}

function isOrder(order: unknown): boolean {
  if (!isObject(order)) return false;
  switch (order["kind"] as Order["kind"]) {
    case "stop":
      return (
        isNumber(order["graceMs"], 0, 600_000) &&
        (order["unlessAttached"] === undefined || typeof order["unlessAttached"] === "boolean") &&
        (order["notAfter"] === undefined || isNumber(order["notAfter"])) &&
        (order["silentAt"] === undefined || isNumber(order["silentAt"]))
      );
    case "withdraw-stop":
      return true;
    case "nudge":
      return (
        isText(order["text"], 2000) &&
        isNumber(order["notAfter"]) &&
        (order["whenIdle"] === undefined || order["whenIdle"] === true)
      );
    case "contain":
      return (
        isOneOf(means, order["how"]) &&
        isText(order["reason"], 2000) &&
        isNumber(order["decidedAt"]) &&
        isNumber(order["lastsMs"], 0, 86_400_000)
      );
  }
  return false;
}

const means: Record<ContainOrder["how"], true> = { pause: true, interrupt: true, "let-go": true };

const isMonitor = (monitor: unknown): boolean =>
  isObject(monitor) && isStore(monitor["store"]) && isWhole(monitor["epoch"]);

const isStore = (store: unknown): boolean => isText(store, 100) && store !== "";

function isSize(size: unknown): boolean {
  return isObject(size) && isWhole(size["cols"], 2, 1000) && isWhole(size["rows"], 2, 1000);
}

function isSettings(settings: unknown): settings is WatchSettings {
  if (!isObject(settings) || !isText(settings["completionMarker"], 200)) return false;
  return Array.isArray(settings["patterns"]) && settings["patterns"].every(isPattern);
}

const patternKeys: Record<keyof UserPattern, true> = { kind: true, pattern: true, family: true, name: true };
const kinds: Record<PatternKind, true> = {
  "rate-limit": true,
  "asks-permission": true,
  "asks-question": true,
  "at-prompt": true,
  error: true,
  completed: true,
  "context-limit": true,
  file: true,
};
const families: Record<AgentFamily, true> = {
  "claude-code": true,
  codex: true,
  "gemini-cli": true,
  opencode: true,
  aider: true,
  generic: true,
};

function isPattern(pattern: unknown): pattern is UserPattern {
  if (!isObject(pattern) || !Object.keys(pattern).every((key) => isOneOf(patternKeys, key))) return false;
  const { kind, pattern: text, family, name } = pattern;
  return (
    isOneOf(kinds, kind) &&
    isText(text, 1000) &&
    text !== "" &&
    (family === undefined || isOneOf(families, family)) &&
    (name === undefined || isText(name, 100))
  );
}

const isOneOf = (set: Readonly<Record<string, true>>, value: unknown): boolean =>
  typeof value === "string" && Object.hasOwn(set, value);

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown, longest: number): value is string =>
  typeof value === "string" && value.length <= longest;

const isNumber = (value: unknown, least = -Number.MAX_VALUE, most = Number.MAX_VALUE): boolean =>
  typeof value === "number" && value >= least && value <= most;

const isWhole = (value: unknown, least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
