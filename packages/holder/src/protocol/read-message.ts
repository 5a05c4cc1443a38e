import type { AgentFamily, PatternKind, UserPattern } from "@rouse/contract";
import type { ContainOrder, Order, ToHolder } from "./messages.ts";
import type { WatchSettings } from "./spec.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * A message to a holder, or `null` when it is none. By hand, and tested to agree with a schema: the library that reads schemas would be a
 * quarter of all the memory a holder takes.
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
        isNumber(order["graceMs"]) &&
        order["graceMs"] >= 0 &&
        order["graceMs"] <= 600_000 &&
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
        isNumber(order["lastsMs"]) &&
        order["lastsMs"] >= 0 &&
        order["lastsMs"] <= 86_400_000
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

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

const isWhole = (value: unknown, least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
