import { type AgentHealth, type FaultCode, isGoodEnd } from "@rouse/contract";

import { notWritten } from "./leave-without-reader.ts";

/** The exit codes of `rouse`. */
export const exit = {
  fine: 0,
  wrong: 1,
  usage: 2,
  noDaemon: 3,
  notAuthorised: 4,
  unknownAgent: 5,
  dataUnusable: 6,
  taken: 7,
  notWritten,
} as const;
export type ExitCode = (typeof exit)[keyof typeof exit];

/** The exit code after Ctrl-C, as shells report it. */
export const interrupted = 130;

export const exitMeanings: readonly (readonly [ExitCode | typeof interrupted, string])[] = [
  [exit.fine, "fine"],
  [exit.wrong, "something is wrong: a fault, an ill agent, a Rouse that is not ready"],
  [exit.usage, "bad usage or bad configuration"],
  [exit.noDaemon, "no Rouse can be reached"],
  [exit.notAuthorised, "not authorised: the token is missing or wrong, or not for this"],
  [exit.unknownAgent, "unknown agent, task, checkpoint or escalation"],
  [exit.dataUnusable, "the data folder or the database cannot be used"],
  [exit.taken, "the port or the name is taken, or another Rouse runs on the same data"],
  [exit.notWritten, "the output could not be written, such as on a full disk"],
  [interrupted, "ended with Ctrl-C"],
];

const byFault: Readonly<Record<FaultCode, ExitCode>> = {
  "agent-unknown": exit.unknownAgent,
  "bad-request": exit.usage,
  "body-too-large": exit.usage,
  "checkpoint-refused": exit.usage,
  "checkpoint-unknown": exit.unknownAgent,
  "command-not-found": exit.usage,
  "config-invalid": exit.usage,
  "daemon-running": exit.taken,
  "daemon-unreachable": exit.noDaemon,
  "data-folder-unusable": exit.dataUnusable,
  "database-damaged": exit.dataUnusable,
  "database-newer": exit.dataUnusable,
  "epoch-lost": exit.taken,
  "escalation-closed": exit.wrong,
  "escalation-unknown": exit.unknownAgent,
  "folder-gone": exit.usage,
  forbidden: exit.notAuthorised,
  "holder-gone": exit.wrong,
  "holder-unreachable": exit.wrong,
  "host-refused": exit.notAuthorised,
  internal: exit.wrong,
  "key-reused": exit.usage,
  "media-type-refused": exit.usage,
  "method-not-allowed": exit.usage,
  "name-taken": exit.taken,
  "not-executable": exit.usage,
  "not-found": exit.wrong,
  "not-supervised": exit.wrong,
  "order-refused": exit.wrong,
  "origin-refused": exit.notAuthorised,
  "port-taken": exit.taken,
  "rate-limit-refused": exit.wrong,
  "store-unavailable": exit.dataUnusable,
  "task-refused": exit.wrong,
  "breaker-unknown": exit.unknownAgent,
  "task-unknown": exit.unknownAgent,
  "tls-required": exit.usage,
  "too-many-attempts": exit.notAuthorised,
  unauthorized: exit.notAuthorised,
  "unsupported-host": exit.wrong,
};

export const exitCodeOf = (fault: { code: FaultCode }): ExitCode => byFault[fault.code];

/**
 * `rouse health AGENT` as a condition in a script: warning signs alone (DEGRADED) are no reason to act. For an agent
 * that is over it counts how it ended.
 */
export function exitCodeOfStanding({ state, over }: Pick<AgentHealth, "state" | "over">): ExitCode {
  const isFine = over ? isGoodEnd(over) : state === "HEALTHY" || state === "DEGRADED";
  return isFine ? exit.fine : exit.wrong;
}
