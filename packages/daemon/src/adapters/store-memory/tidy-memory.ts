import type { CheckpointHead, EpochMs } from "@rouse/contract";
import {
  type BeatStretch,
  type RetentionOrder,
  type SavedCheckpoint,
  type SavedSignal,
  type StatesToKeep,
  taskMachine,
} from "../../ports/store.ts";
import { surplusStates } from "../../ports/surplus-states.ts";
import type { AgentShelf, MemoryDisk } from "./memory-disk.ts";

const hour = 3_600_000;

/** Agents looked at in one step. */
const agentsPerStep = 500;

/** Tidies a batch of agents. Returns the index of the next agent, `null` when all is tidy. */
export function tidyDisk(disk: MemoryDisk, order: RetentionOrder, startAt: number): number | null {
  const historyEnds = order.now - order.history;
  if (startAt === 0) {
    disk.events = keepYoung(disk.events, historyEnds);
    removeOldAudit(disk, order);
    removeWhatIsOver(disk, historyEnds);
  }
  const shelves = [...disk.shelves.values()].slice(startAt, startAt + agentsPerStep);
  for (const shelf of shelves) {
    rollUp(shelf, order);
    for (const end of shelf.hours.keys()) if (end < historyEnds) shelf.hours.delete(end);
  }
  return shelves.length < agentsPerStep ? null : startAt + agentsPerStep;
}

/** Looks no further than the first young entry: one behind it that a wrong clock dated too early goes with it. */
function keepYoung<T extends { readonly time: EpochMs }>(list: T[], oldest: EpochMs): T[] {
  const young = list.findIndex(({ time }) => time >= oldest);
  if (young === 0) return list;
  return young === -1 ? [] : list.slice(young);
}

function removeOldAudit(disk: MemoryDisk, { auditThrough = 0 }: RetentionOrder): void {
  if (auditThrough === 0) return;
  const last = disk.audit.at(-1)?.number ?? 0;
  disk.audit = disk.audit.filter(({ number }) => number > auditThrough || number === last);
}

function removeWhatIsOver(disk: MemoryDisk, historyEnds: EpochMs): void {
  for (const [key, { machine, id, overAt }] of disk.machines) {
    if (overAt === null || overAt >= historyEnds) continue;
    if (machine === taskMachine) {
      for (const checkpoint of disk.checkpointsOf.get(id) ?? []) disk.checkpoints.delete(checkpoint.id);
      disk.checkpointsOf.delete(id);
    }
    disk.machines.delete(key);
  }
}

/** Looks no further than the first young beat, which is nearly always the first of all. */
function rollUp(shelf: AgentShelf, { now, beats }: RetentionOrder): void {
  const isYoung = ({ id, time }: SavedSignal) => id > shelf.through || (time >= now - beats && time <= now);
  const young = shelf.signals.findIndex(isYoung);
  const looked = young === -1 ? shelf.signals : shelf.signals.slice(0, young);
  if (looked.length === 0) return;
  // Signals that a fast clock dated into the future stay, but the others do not wait for them.
  const ahead = looked.filter(({ time }) => time > now);
  for (const signal of looked) if (signal.time <= now && signal.kind === "heartbeat") addToHour(shelf, signal);
  shelf.signals.splice(0, looked.length, ...ahead);
}

function addToHour(shelf: AgentShelf, { time, body }: SavedSignal): void {
  const end = Math.ceil(time / hour) * hour;
  shelf.hours.set(end, addNewer(shelf.hours.get(end), { at: end, beats: 1, ...countsIn(body) }));
}

/** The newer stretch's values win where it has any. */
export function addNewer(older: BeatStretch | undefined, newer: BeatStretch): BeatStretch {
  if (older === undefined) return newer;
  return {
    at: newer.at,
    beats: older.beats + newer.beats,
    tokenCount: newer.tokenCount ?? older.tokenCount,
    errorCount: newer.errorCount ?? older.errorCount,
    toolCallCount: newer.toolCallCount ?? older.toolCallCount,
  };
}

/** The running totals an agent put into a beat. */
export function countsIn(body: string): Pick<BeatStretch, "tokenCount" | "errorCount" | "toolCallCount"> {
  const { tokenCount, errorCount, toolCallCount } = JSON.parse(body) as Record<string, unknown>;
  return {
    tokenCount: numberOrNull(tokenCount),
    errorCount: numberOrNull(errorCount),
    toolCallCount: numberOrNull(toolCallCount),
  };
}

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);

export function forgetOldStates(disk: MemoryDisk, taskId: string, keep: StatesToKeep): string[] {
  const chain = disk.checkpointsOf.get(taskId) ?? [];
  const newestFirst = chain
    .toSorted((a, b) => b.number - a.number)
    .map((one) => ({ ...one, isForgotten: one.stateForgotten ?? false }));
  const surplus = surplusStates(newestFirst, keep);
  if (surplus.length === 0) return [];
  const forgotten = new Map<string, SavedCheckpoint>();
  for (const { isForgotten: _, ...one } of surplus)
    forgotten.set(one.id, { ...one, state: null, stateForgotten: true });
  for (const [id, one] of forgotten) disk.checkpoints.set(id, one);
  disk.checkpointsOf.set(
    taskId,
    chain.map((one) => forgotten.get(one.id) ?? one),
  );
  return surplus.flatMap(({ state, head }) => (state === null ? (JSON.parse(head) as CheckpointHead).stateHash : []));
}
