import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import type { StopOutcome } from "@rouse/contract";
import type { ToHolder } from "./protocol.ts";
import { writeWhole } from "./write-whole.ts";

export type OrderMessage = Extract<ToHolder, { say: "order" }>;

export interface Orders {
  /** Carried out once per key, however often it comes. */
  obey(message: OrderMessage): Promise<StopOutcome>;
  /** Whether a monitor of this epoch is still to be listened to; remembers the highest. */
  admits(epoch: number): boolean;
  /** Whether we are bringing the agent down, or have. */
  stopping(): boolean;
  /** Once every order that came is answered. */
  settled(): Promise<void>;
}

/** Whoever could not look does not know whether anybody is left: not done, not remembered, to be tried again. */
const unsure: StopOutcome = { kind: "termination_incomplete", survivors: [] };
const couldNotLook = (): StopOutcome => unsure;

/** Enough for every order a monitor could still ask about. */
const mostRemembered = 200;

/** `stop` brings the whole tree down, checking who it is before each signal. */
export function obeyOrders(file: string, incarnation: number, stop: (graceMs: number) => Promise<StopOutcome>): Orders {
  const remembered = recall(file);
  const underWay = new Map<string, Promise<StopOutcome>>();
  let highest = Number.NEGATIVE_INFINITY;
  let stopping: Promise<StopOutcome> | null = null;
  let stopped = false;

  function admits(epoch: number): boolean {
    if (epoch < highest) return false;
    highest = epoch;
    return true;
  }

  /** A second order while the first is being carried out has the same end. */
  function stopOnce(graceMs: number): Promise<StopOutcome> {
    stopping ??= stop(graceMs).finally(() => {
      stopping = null;
    });
    return stopping;
  }

  async function carryOut({ key, order }: OrderMessage): Promise<StopOutcome> {
    const outcome = await stopOnce(order.graceMs).catch(couldNotLook);
    if (outcome === unsure) return outcome;
    if (outcome.kind === "refused") return outcome;
    if (outcome.kind !== "already-over") stopped = true;
    remembered.set(key, outcome);
    note(file, key, outcome);
    return outcome;
  }

  return {
    async obey(message) {
      const known = remembered.get(message.key) ?? underWay.get(message.key);
      if (known !== undefined) return known;
      if (message.incarnation !== incarnation) return { kind: "refused", because: "wrong-incarnation" };
      if (message.epoch !== null && !admits(message.epoch)) return { kind: "refused", because: "old-epoch" };
      const work = carryOut(message).finally(() => underWay.delete(message.key));
      underWay.set(message.key, work);
      return work;
    },
    admits,
    stopping: () => stopping !== null || stopped,
    settled: async () => void (await Promise.allSettled(underWay.values())),
  };
}

/** On the disk before it is answered. On a full disk the answer counts for more than the memory of it. */
function note(file: string, key: string, outcome: StopOutcome): void {
  try {
    const handle = openSync(file, "a", 0o600);
    try {
      writeSync(handle, `${JSON.stringify({ key, outcome })}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // Remembered for as long as we live.
  }
}

function recall(file: string): Map<string, StopOutcome> {
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
  return new Map(lines.flatMap(readLine));
}

/** A line cut off by a crash was never answered. */
function readLine(line: string): [string, StopOutcome][] {
  try {
    const { key, outcome } = JSON.parse(line) as { key: string; outcome: StopOutcome };
    return [[key, outcome]];
  } catch {
    return [];
  }
}
