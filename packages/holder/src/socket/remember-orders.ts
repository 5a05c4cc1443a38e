import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import type { NudgeDelivery, StopOutcome } from "@rouse/contract";
import { writeWhole } from "../write-whole.ts";

/** What became of orders, by key, here and on the disk. */
export interface OrderMemory {
  stop(key: string): StopOutcome | undefined;
  nudge(key: string): NudgeDelivery | undefined;
  /** On the disk before it is answered. On a full disk the answer counts for more than the memory of it. */
  noteStop(key: string, outcome: StopOutcome): void;
  noteNudge(key: string, delivery: NudgeDelivery): void;
  /** Before the first byte is typed. `false`: it could not be written down, so nothing may be typed. */
  beginNudge(key: string): boolean;
}

type Line =
  | { readonly key: string; readonly begun: true }
  | { readonly key: string; readonly outcome: StopOutcome | NudgeDelivery };

/** Enough for every order a monitor could still ask about. */
const mostRemembered = 200;

/** It was begun, and nobody knows how far it came: better said once too little than typed twice. */
export const endUnknown: NudgeDelivery = { kind: "not-sent", because: "not-echoed" };

export function rememberOrders(file: string): OrderMemory {
  const stops = new Map<string, StopOutcome>();
  const nudges = new Map<string, NudgeDelivery>();
  for (const line of recall(file)) take(line);

  function take(line: Line): void {
    if ("begun" in line) keep(nudges, line.key, endUnknown);
    else if (isDelivery(line.outcome)) keep(nudges, line.key, line.outcome);
    else keep(stops, line.key, line.outcome);
  }

  function note(line: Line): boolean {
    take(line);
    return append(file, line);
  }

  return {
    stop: (key) => stops.get(key),
    nudge: (key) => nudges.get(key),
    noteStop: (key, outcome) => void note({ key, outcome }),
    noteNudge: (key, delivery) => void note({ key, outcome: delivery }),
    beginNudge: (key) => note({ key, begun: true }),
  };
}

/** Whoever is forgotten is long past its time, and would be refused for that. */
function keep<T>(memory: Map<string, T>, key: string, value: T): void {
  memory.set(key, value);
  for (const oldest of memory.keys()) {
    if (memory.size <= mostRemembered) return;
    memory.delete(oldest);
  }
}

const isDelivery = (outcome: StopOutcome | NudgeDelivery): outcome is NudgeDelivery =>
  outcome.kind === "sent" || outcome.kind === "not-sent";

function append(file: string, line: Line): boolean {
  try {
    const handle = openSync(file, "a", 0o600);
    try {
      writeSync(handle, `${JSON.stringify(line)}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    return true;
  } catch {
    return false; // remembered for as long as we live
  }
}

function recall(file: string): Line[] {
  let lines: string[] = [];
  try {
    lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
    if (lines.length > 2 * mostRemembered) {
      lines = lines.slice(-mostRemembered);
      writeWhole(file, `${lines.join("\n")}\n`);
    }
  } catch {
    // None was ever carried out, or there is no room to shorten the list.
  }
  return lines.flatMap(readLine);
}

/** A line cut off by a crash was never answered. */
function readLine(text: string): Line[] {
  try {
    const line = JSON.parse(text) as Line;
    return typeof line.key === "string" && ("begun" in line || "outcome" in line) ? [line] : [];
  } catch {
    return [];
  }
}
