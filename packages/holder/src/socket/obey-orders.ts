import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import type { ContainOutcome, HolderRefusal, NudgeDelivery, OrderRefusal, StopOutcome } from "@rouse/contract";
import { attempt } from "../attempt.ts";
import type { MonitorId } from "../protocol/admit-monitors.ts";
import type { ContainOrder, NudgeOrder, StopOrder, ToHolder } from "../protocol/messages.ts";
import { writeWhole } from "../write-whole.ts";

/** An order, and the store of the monitor that gives it; `null`: a person. */
export type OrderMessage = Extract<ToHolder, { say: "order" }> & { readonly store: string | null };

export type Orders = ReturnType<typeof obeyOrders>;

interface OrderHands {
  /** Why a monitor is refused; `null`: it is not. */
  refuses(monitor: MonitorId): HolderRefusal | null;
  /** Whether a person has the agent's terminal open. */
  attached(): boolean;
  /** Whether the agent has shown work since a moment of the wall clock; output that waits is read first. */
  movedSince(at: number): Promise<boolean>;
  /** Stops the whole tree, checking the identity of a process before each signal. */
  stop(graceMs: number): Promise<StopOutcome>;
  /** Calls `begin` right before anything reaches the agent, and gives nothing when `begin` returns false. */
  nudge(id: string, order: NudgeOrder, begin: () => boolean): Promise<NudgeDelivery>;
  /** A nudge that is not begun yet is not begun any more. */
  withdraw(id: string): void;
  contain(order: ContainOrder): Promise<ContainOutcome>;
}

/** A stop that failed does not know whether processes are left. It is not remembered, so that it is tried again. */
const unsure: StopOutcome = { kind: "termination_incomplete", survivors: [] };

export function obeyOrders(file: string, incarnation: number, hands: OrderHands) {
  const memory = rememberOrders(file);
  const stops = new Map<string, Promise<StopOutcome>>();
  const nudges = new Map<string, Promise<NudgeDelivery>>();
  /** Not kept on the disk: they are few and count for this life only. */
  const containments = new Map<string, Promise<ContainOutcome>>();
  /** Keys of stops that were withdrawn; they may still come. */
  const withdrawn = new Set<string>();
  let stopping: Promise<StopOutcome> | null = null;
  let stopped = false;

  function fence({ incarnation: life, epoch, store }: OrderMessage): "wrong-incarnation" | HolderRefusal | null {
    if (life !== incarnation) return "wrong-incarnation";
    if (epoch === null) return null;
    return store === null ? "other-store" : hands.refuses({ store, epoch });
  }

  /** A second order while the first is carried out gets the same outcome. */
  function stopOnce(graceMs: number): Promise<StopOutcome> {
    stopping ??= hands.stop(graceMs).finally(() => {
      stopping = null;
    });
    return stopping;
  }

  /**
   * The monitor decided on what was true a moment ago, and this process may have been suspended since. Once any stop is
   * under way, nothing speaks against another.
   */
  function overtaken(key: string, order: StopOrder, moved: boolean): OrderRefusal | null {
    if (stopping !== null) return null;
    if (moved) return "moved-since";
    return isPast(order) || withdrawn.has(key) ? "too-late" : null;
  }

  async function stop(key: string, order: StopOrder): Promise<StopOutcome> {
    const { graceMs, unlessAttached, silentAt } = order;
    // When that cannot be found out, it counts in the agent's favour.
    const moved = silentAt !== undefined && !isPast(order) && (await hands.movedSince(silentAt).catch(() => true));
    const because = overtaken(key, order, moved);
    if (because !== null) return { kind: "refused", because };
    // Checked in the same turn of the event loop as the first signal: who attaches later cannot take it back.
    if (unlessAttached === true && stopping === null && hands.attached())
      return { kind: "refused", because: "attached" };
    const outcome = await stopOnce(graceMs).catch(() => unsure);
    if (outcome === unsure || outcome.kind === "refused") return outcome;
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

  /** A stop that is begun goes on. One that is not begun has no effect any more, also when it comes later. */
  async function withdraw(message: OrderMessage): Promise<StopOutcome> {
    const because = fence(message);
    if (because === null) withdrawn.add(message.key);
    return memory.stop(message.key) ?? { kind: "refused", because: because ?? "too-late" };
  }

  async function obeyNudge(message: OrderMessage, order: NudgeOrder): Promise<NudgeDelivery> {
    // `nudges` first: a nudge that is under way is remembered as begun.
    const known = nudges.get(message.key) ?? memory.nudge(message.key);
    // The same order with a time that is past withdraws the nudge. One that never came before is answered as expired.
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
    /** Carried out once per key, however often it comes. */
    async obey(message: OrderMessage): Promise<StopOutcome | NudgeDelivery | ContainOutcome> {
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
    /** Whether a stop is under way, or has ended the agent. */
    stopping: () => stopping !== null || stopped,
    /** Resolves once every order that came is answered. */
    settled: async (): Promise<void> => void (await Promise.allSettled([...stops.values(), ...nudges.values()])),
  };
}

/** Whether an order came too late. A person's order has no such moment. */
export const isPast = ({ notAfter }: Pick<StopOrder, "notAfter">): boolean =>
  notAfter !== undefined && Date.now() > notAfter;

function underWay<T>(all: Map<string, Promise<T>>, key: string, work: Promise<T>): Promise<T> {
  const watched = work.finally(() => all.delete(key));
  all.set(key, watched);
  return watched;
}

type Line =
  | { readonly key: string; readonly begun: true }
  | { readonly key: string; readonly outcome: StopOutcome | NudgeDelivery };

/** Enough for every order a monitor could still ask about. */
const mostRemembered = 200;

/** A nudge that was begun and not finished: better not given at all than given twice. */
const endUnknown: NudgeDelivery = { kind: "not-sent", because: "not-echoed" };

/** The outcomes of orders by key, in memory and on the disk. */
export function rememberOrders(file: string) {
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
    stop: (key: string) => stops.get(key),
    nudge: (key: string) => nudges.get(key),
    /** An outcome is on the disk before it is answered. When the disk is full it is answered all the same. */
    noteStop: (key: string, outcome: StopOutcome) => void note({ key, outcome }),
    noteNudge: (key: string, outcome: NudgeDelivery) => void note({ key, outcome }),
    /** Called before the first byte is typed. `false`: it could not be written down, so nothing may be typed. */
    beginNudge: (key: string) => note({ key, begun: true }),
  };
}

/** A forgotten order is long past its time, and would be refused for that. */
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
    return false; // remembered in memory only
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
    // No order was ever carried out, or there is no room to shorten the list.
  }
  return lines.flatMap(readLine);
}

/** A line cut off by a crash was never answered. */
function readLine(text: string): Line[] {
  const line = attempt(() => JSON.parse(text) as Line);
  return typeof line?.key === "string" && ("begun" in line || "outcome" in line) ? [line] : [];
}
