import { type AuditRecord, Fault } from "@rouse/contract";
import {
  type Commit,
  epochLost,
  type SavedCheckpoint,
  type SavedMachine,
  type SavedRecord,
  type Store,
} from "../../ports/store.ts";
import { type AgentShelf, createMemoryDisk, insertById, type MemoryDisk, shardOf, shelfOf } from "./memory-disk.ts";
import * as reading from "./read-memory.ts";
import { forgetOldStates, tidyDisk } from "./tidy-memory.ts";

/** The port in memory, for tests and simulations. */
export async function openMemoryStore(whole: MemoryDisk = createMemoryDisk(), shard = 0): Promise<Store> {
  const disk = shardOf(whole, shard);
  if (disk.holder !== null) throw new Fault("daemon-running", "another store has this disk open");
  const self = {};
  disk.holder = self;
  let tidyFrom = 0;

  function stillOpen(): MemoryDisk {
    if (disk.holder !== self) throw new Fault("store-unavailable", "the store is closed");
    return disk;
  }

  return {
    takeOver: async () => ++stillOpen().epoch,
    resume: async () => reading.readResumption(stillOpen()),
    commit: async (commit) => applyCommit(stillOpen(), commit),
    readEvents: async (...query) => reading.findEvents(stillOpen(), ...query),
    readBeats: async (...query) => reading.findBeats(stillOpen(), ...query),
    readSteps: async (...query) => reading.findSteps(stillOpen(), ...query),
    readHistory: async (...query) => reading.findHistory(stillOpen(), ...query),
    readAudit: async (...query) => reading.findAudit(stillOpen(), ...query),
    readCheckpoints: async (...query) => reading.findCheckpoints(stillOpen(), ...query),
    findCheckpoint: async (id) => stillOpen().checkpoints.get(id) ?? null,
    refersToState: async (stateHash) => reading.isStateNeeded(stillOpen(), stateHash),
    forgetOldStates: async (taskId, keep) => forgetOldStates(stillOpen(), taskId, keep),
    tidy: async (order) => {
      const next = tidyDisk(stillOpen(), order, tidyFrom);
      tidyFrom = next ?? 0;
      return next !== null;
    },
    close: async () => {
      if (disk.holder === self) disk.holder = null;
    },
  };
}

function applyCommit(disk: MemoryDisk, commit: Commit): void {
  if (commit.epoch !== disk.epoch) throw epochLost(commit.epoch, disk.epoch);
  for (const agentNo of commit.removed) {
    disk.records.delete(agentNo);
    disk.shelves.delete(agentNo);
  }
  for (const signal of commit.signals) {
    const shelf = shelfOf(disk, signal.agentNo);
    insertById(shelf.signals, signal);
    if (signal.id > disk.lastSignalId) disk.lastSignalId = signal.id;
    // Trimmed only at twice the length, so that trimming is rare.
    if (shelf.signals.length > 2 * disk.keepBeatsPerAgent) trim(shelf, disk.keepBeatsPerAgent);
  }
  for (const record of commit.records) saveRecord(disk, record);
  for (const event of commit.events) {
    insertById(disk.events, event);
    if (event.id > disk.lastEventId) disk.lastEventId = event.id;
  }
  for (const action of commit.actions) if (!disk.actions.has(action.key)) disk.actions.set(action.key, action);
  for (const key of commit.finished) disk.actions.delete(key);
  for (const saved of commit.machines) saveMachine(disk, saved);
  for (const checkpoint of commit.checkpoints) addCheckpoint(disk, checkpoint);
  for (const line of commit.audit) addLine(disk.audit, line);
  for (const [key, value] of Object.entries(commit.marks)) {
    if (value === null) disk.marks.delete(key);
    else disk.marks.set(key, value);
  }
}

/** A late retry of a commit must not put an agent back to where it was before newer signals. */
function saveRecord(disk: MemoryDisk, record: SavedRecord): void {
  const kept = disk.records.get(record.agentNo);
  if (kept !== undefined && kept.through > record.through) return;
  disk.records.set(record.agentNo, record);
  shelfOf(disk, record.agentNo).through = record.through;
  if (record.through > disk.lastSignalId) disk.lastSignalId = record.through;
}

function saveMachine(disk: MemoryDisk, { record, ...saved }: SavedMachine): void {
  const key = `${saved.machine}/${saved.id}`;
  if (record === null) disk.machines.delete(key);
  else disk.machines.set(key, { ...saved, record });
}

function trim(shelf: AgentShelf, keep: number): void {
  const surplus = shelf.signals.length - keep;
  let drop = 0;
  while (drop < surplus && (shelf.signals[drop]?.id ?? 0) <= shelf.through) drop++;
  if (drop > 0) shelf.signals.splice(0, drop);
}

function addCheckpoint(disk: MemoryDisk, checkpoint: SavedCheckpoint): void {
  if (disk.checkpoints.has(checkpoint.id)) return;
  disk.checkpoints.set(checkpoint.id, checkpoint);
  const chain = disk.checkpointsOf.get(checkpoint.taskId);
  if (chain === undefined) disk.checkpointsOf.set(checkpoint.taskId, [checkpoint]);
  else chain.push(checkpoint);
}

/** Inserts a line by its number; one that is already there stays as it is. */
function addLine(audit: AuditRecord[], line: AuditRecord): void {
  let place = audit.length;
  while (place > 0 && (audit[place - 1]?.number ?? 0) > line.number) place--;
  if (audit[place - 1]?.number !== line.number) audit.splice(place, 0, line);
}
