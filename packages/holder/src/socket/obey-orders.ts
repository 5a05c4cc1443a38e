import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import type { ContainOutcome, HolderRefusal, NudgeDelivery, OrderRefusal, StopOutcome } from "@rouse/contract";
import type { MonitorId } from "../protocol/admit-monitors.ts";
import type { ContainOrder, NudgeOrder, StopOrder, ToHolder } from "../protocol/messages.ts";
import { writeWhole } from "../write-whole.ts";

/** An order, and for which store whoever gives it has introduced itself; `null`: a person. */
export type OrderMessage = Extract<ToHolder, { say: "order" }> & { readonly store: string | null };

export interface Orders {
  /** Carried out once per key, however often it comes. */
  obey(message: OrderMessage): Promise<StopOutcome | NudgeDelivery | ContainOutcome>;
  /** Whether we are bringing the agent down, or have. */
  stopping(): boolean;
  /** Once every order that came is answered. */
  settled(): Promise<void>;
}

export interface OrderHands {
  /** Why a monitor is no longer to be listened to. */
  refuses(monitor: MonitorId): HolderRefusal | null;
  /** Whether somebody sits at the agent's terminal. */
  attached(): boolean;
  /** Whether the agent has shown work since a moment of the wall clock; what nobody has read yet is read first. */
  movedSince(at: number): Promise<boolean>;
  /** Brings the whole tree down, checking who it is before each signal. */
  stop(graceMs: number): Promise<StopOutcome>;
  /** Calls `begin` right before anything reaches the agent, and lets nothing reach it when that says no. */
  nudge(id: string, order: NudgeOrder, begin: () => boolean): Promise<NudgeDelivery>;
  /** Begins a nudge no more that is still to begin. */
  withdraw(id: string): void;
  contain(order: ContainOrder): Promise<ContainOutcome>;
}

/** Whoever could not look does not know whether anybody is left: not done, not remembered, to be tried again. */
const unsure: StopOutcome = { kind: "termination_incomplete", survivors: [] };
const couldNotLook = (): StopOutcome => unsure;

export function obeyOrders(file: string, incarnation: number, hands: OrderHands): Orders {
  const memory = rememberOrders(file);
  const stops = new Map<string, Promise<StopOutcome>>();
  const nudges = new Map<string, Promise<NudgeDelivery>>();
  /** Few, and for this life only: they need not be on the disk. */
  const containments = new Map<string, Promise<ContainOutcome>>();
  /** Stops that are not wanted any more, for as long as they could still come. */
  const withdrawn = new Set<string>();
  let stopping: Promise<StopOutcome> | null = null;
  let stopped = false;

  function fence({ incarnation: life, epoch, store }: OrderMessage): "wrong-incarnation" | HolderRefusal | null {
    if (life !== incarnation) return "wrong-incarnation";
    if (epoch === null) return null;
    return store === null ? "other-store" : hands.refuses({ store, epoch });
  }

  /** A second order while the first is being carried out has the same end. */
  function stopOnce(graceMs: number): Promise<StopOutcome> {
    stopping ??= hands.stop(graceMs).finally(() => {
      stopping = null;
    });
    return stopping;
  }

  /** Our own orders rest on what was true a moment ago; we may have stood still since. Nothing is left to ask once somebody's stop is under way. */
  function overtaken(key: string, order: StopOrder, moved: boolean): OrderRefusal | null {
    if (stopping !== null) return null;
    if (moved) return "moved-since";
    return isPast(order) || withdrawn.has(key) ? "too-late" : null;
  }

  async function stop(key: string, order: StopOrder): Promise<StopOutcome> {
    const { graceMs, unlessAttached, silentAt } = order;
    // Whoever could not look knows nothing against the agent.
    const moved = silentAt !== undefined && !isPast(order) && (await hands.movedSince(silentAt).catch(() => true));
    const because = overtaken(key, order, moved);
    if (because !== null) return { kind: "refused", because };
    // Looked at in the turn of the first signal. Once that is sent, who comes to sit down cannot take it back.
    if (unlessAttached === true && stopping === null && hands.attached())
      return { kind: "refused", because: "attached" };
    const outcome = await stopOnce(graceMs).catch(couldNotLook);
    if (outcome === unsure) return outcome;
    if (outcome.kind === "refused") return outcome;
    if (outcome.kind !== "already-over") stopped = true;
    memory.noteStop(key, outcome);
    return outcome;
  }

  async function nudge(key: string, order: NudgeOrder): Promise<NudgeDelivery> {
    const delivery = await hands.nudge(key, order, () => memory.beginNudge(key)).catch(() => endUnknown);
    memory.noteNudge(key, delivery);
    return delivery;
  }

  async function obeyStop(message: OrderMessage, order: StopOrder): Promise<StopOutcome> {
    const known = memory.stop(message.key) ?? stops.get(message.key);
    if (known !== undefined) return known;
    const because = fence(message);
    return because === null ? underWay(stops, message.key, stop(message.key, order)) : { kind: "refused", because };
  }

  /** What is begun goes on; before that it has no effect any more, also when it comes only now. */
  async function withdraw(message: OrderMessage): Promise<StopOutcome> {
    const because = fence(message);
    if (because === null) withdrawn.add(message.key);
    return memory.stop(message.key) ?? { kind: "refused", because: because ?? "too-late" };
  }

  async function obeyNudge(message: OrderMessage, order: NudgeOrder): Promise<NudgeDelivery> {
    // One that is under way is already remembered as begun.
    const known = nudges.get(message.key) ?? memory.nudge(message.key);
    // Said again with a time that is over, it is not wanted any more. Who never heard of it remembers that it expired.
    const isOver = nudges.has(message.key) && Date.now() > order.notAfter;
    if (isOver && fence(message) === null) hands.withdraw(message.key);
    if (known !== undefined) return known;
    const because = fence(message);
    return because === null ? underWay(nudges, message.key, nudge(message.key, order)) : { kind: "not-sent", because };
  }

  async function obeyContain(message: OrderMessage, order: ContainOrder): Promise<ContainOutcome> {
    const known = containments.get(message.key);
    if (known !== undefined) return known;
    const because = fence(message);
    if (because !== null) return { kind: "not-contained", because };
    const work = hands.contain(order);
    containments.set(message.key, work);
    return work;
  }

  return {
    async obey(message) {
      const { order } = message;
      switch (order.kind) {
        case "stop":
          return obeyStop(message, order);
        case "withdraw-stop":
          return withdraw(message);
        case "nudge":
          return obeyNudge(message, order);
        case "contain":
          return obeyContain(message, order);
      }
    },
    stopping: () => stopping !== null || stopped,
    settled: async () => void (await Promise.allSettled([...stops.values(), ...nudges.values()])),
  };
}

/** A person's order has no such moment. */
export const isPast = ({ notAfter }: Pick<StopOrder, "notAfter">): boolean =>
  notAfter !== undefined && Date.now() > notAfter;

function underWay<T>(all: Map<string, Promise<T>>, key: string, work: Promise<T>): Promise<T> {
  const watched = work.finally(() => all.delete(key));
  all.set(key, watched);
  return watched;
}

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
