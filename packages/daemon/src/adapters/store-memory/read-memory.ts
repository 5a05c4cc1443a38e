import { type CheckpointHead, type EpochMs, toIso } from "@rouse/contract";
import type { BeatStretch, EventQuery, EventToSave, KeptMachine, SavedSignal, Store } from "../../ports/store.ts";
import { firstAfter, type MemoryDisk } from "./memory-disk.ts";
import { addNewer, countsIn } from "./tidy-memory.ts";

/** A method of the port, on a disk. */
type Reading<N extends keyof Store> = (
  disk: MemoryDisk,
  ...args: Parameters<Store[N]>
) => Awaited<ReturnType<Store[N]>>;

export const readResumption: Reading<"resume"> = (disk) => {
  const signals: SavedSignal[] = [];
  for (const shelf of disk.shelves.values()) {
    for (let i = firstAfter(shelf.signals, shelf.through); i < shelf.signals.length; i++) {
      signals.push(shelf.signals[i] as SavedSignal);
    }
  }
  const lastLine = disk.audit.at(-1);
  return {
    records: [...disk.records.values()].sort((a, b) => a.agentNo - b.agentNo),
    signals: signals.sort((a, b) => a.id - b.id),
    actions: [...disk.actions.values()],
    machines: [...disk.machines.values()].sort(byMachineAndId),
    lastAudit: lastLine === undefined ? null : { number: lastLine.number, hash: lastLine.hash },
    marks: Object.fromEntries(disk.marks),
    lastSignalId: disk.lastSignalId,
    lastEventId: disk.lastEventId,
  };
};

const byMachineAndId = (a: KeptMachine, b: KeptMachine): number =>
  a.machine === b.machine ? (a.id < b.id ? -1 : 1) : a.machine < b.machine ? -1 : 1;

export const findEvents: Reading<"readEvents"> = (disk, query) => {
  const { after = 0, before = Number.POSITIVE_INFINITY, limit, newestFirst = false } = query;
  const found: ReturnType<typeof findEvents> = [];
  const first = firstAfter(disk.events, after);
  for (let n = 0; first + n < disk.events.length && found.length < limit; n++) {
    const kept = disk.events[newestFirst ? disk.events.length - 1 - n : first + n] as EventToSave;
    if (kept.id < before && isAskedFor(kept, query)) found.push({ id: kept.id, time: toIso(kept.time), ...kept.event });
  }
  return found;
};

function isAskedFor({ agentId, event, time }: EventToSave, query: EventQuery): boolean {
  if (query.agentId !== undefined && agentId !== query.agentId) return false;
  if (query.types !== undefined && !query.types.includes(event.type)) return false;
  return time >= (query.since ?? Number.NEGATIVE_INFINITY) && time <= (query.until ?? Number.POSITIVE_INFINITY);
}

export const findBeats: Reading<"readBeats"> = (disk, agentNo, limit, before = Number.POSITIVE_INFINITY) => {
  const found: SavedSignal[] = [];
  const signals = disk.shelves.get(agentNo)?.signals ?? [];
  for (let i = signals.length - 1; i >= 0 && found.length < limit; i--) {
    const signal = signals[i] as SavedSignal;
    if (signal.kind === "heartbeat" && signal.id < before) found.push(signal);
  }
  return found;
};

export const findSteps: Reading<"readSteps"> = (disk, agentNo, before, limit) =>
  (disk.shelves.get(agentNo)?.signals ?? [])
    .filter(({ id, kind }) => (kind === "steps" || kind === "holder") && (before === null || id < before))
    .slice(-limit)
    .reverse();

export const findHistory: Reading<"readHistory"> = (disk, agentNo, from, to, step) => {
  const shelf = disk.shelves.get(agentNo);
  if (shelf === undefined) return [];
  const rolledUp = [...shelf.hours.values()].sort((a, b) => a.at - b.at);
  const single = shelf.signals
    .filter(({ kind, time }) => kind === "heartbeat" && time > from && time <= to)
    .map(({ time, body }) => ({ at: time, beats: 1, ...countsIn(body) }));
  const stretches = new Map<EpochMs, BeatStretch>();
  for (const part of [...rolledUp, ...single]) {
    if (part.at <= from || part.at > to) continue;
    const at = Math.min(from + Math.ceil((part.at - from) / step) * step, to);
    stretches.set(at, addNewer(stretches.get(at), { ...part, at }));
  }
  return [...stretches.values()].sort((a, b) => a.at - b.at);
};

export const findAudit: Reading<"readAudit"> = (disk, query) => {
  const { after = 0, before = Number.POSITIVE_INFINITY, subject, limit, newestFirst } = query;
  const found = disk.audit.filter(
    (line) => line.number > after && line.number < before && (subject === undefined || line.subject === subject),
  );
  return (newestFirst ? found.reverse() : found).slice(0, limit);
};

export const findCheckpoints: Reading<"readCheckpoints"> = (disk, taskId, limit, before = Number.POSITIVE_INFINITY) => {
  const chain = (disk.checkpointsOf.get(taskId) ?? []).filter(({ number }) => number < before);
  const newest = chain.toSorted((a, b) => b.number - a.number).slice(0, limit);
  return newest.map(({ state: _, stateForgotten: __, ...head }) => head);
};

export const isStateNeeded: Reading<"refersToState"> = (disk, stateHash) =>
  [...disk.checkpoints.values()].some(
    ({ head, state, stateForgotten = false }) =>
      state === null && !stateForgotten && (JSON.parse(head) as CheckpointHead).stateHash === stateHash,
  );
