import type { AuditRecord, EpochMs } from "@rouse/contract";
import type {
  BeatStretch,
  EventToSave,
  IntendedAction,
  KeptMachine,
  SavedCheckpoint,
  SavedRecord,
  SavedSignal,
} from "../../ports/store.ts";

interface MemoryDiskOptions {
  /**
   * Older beats of an agent may be dropped once they are part of its record, for simulations that push millions
   * through. By default all are kept until they are tidied.
   */
  readonly keepBeatsPerAgent?: number;
}

export interface AgentShelf {
  /** Id of the last signal that is part of the agent's record. */
  through: number;
  /** In order of their ids. */
  signals: SavedSignal[];
  /** By the end of the hour. */
  readonly hours: Map<EpochMs, BeatStretch>;
}

/** What survives the death of a monitor: the next store is opened on the same disk. The disk itself is shard 0. */
export class MemoryDisk {
  /** The other shards, by their numbers. */
  readonly others = new Map<number, MemoryDisk>();
  epoch = 0;
  readonly keepBeatsPerAgent: number;
  readonly shelves = new Map<number, AgentShelf>();
  readonly records = new Map<number, SavedRecord>();
  /** In order of their ids. */
  events: EventToSave[] = [];
  readonly actions = new Map<string, IntendedAction>();
  /** By machine and id. */
  readonly machines = new Map<string, KeptMachine>();
  /** By id. */
  readonly checkpoints = new Map<string, SavedCheckpoint>();
  /** The same checkpoints by task, in the order they came. */
  readonly checkpointsOf = new Map<string, SavedCheckpoint[]>();
  /** In order of their numbers. */
  audit: AuditRecord[] = [];
  readonly marks = new Map<string, string>();
  lastSignalId = 0;
  lastEventId = 0;
  /** The store that has the disk open; no other may write. */
  holder: object | null = null;

  constructor({ keepBeatsPerAgent = Number.POSITIVE_INFINITY }: MemoryDiskOptions) {
    this.keepBeatsPerAgent = keepBeatsPerAgent;
  }

  /** Releases the lock as the kernel does when a process dies: nothing is finished first. */
  crash(): void {
    this.holder = null;
    for (const other of this.others.values()) other.crash();
  }
}

export const createMemoryDisk = (options: MemoryDiskOptions = {}): MemoryDisk => new MemoryDisk(options);

export function shardOf(disk: MemoryDisk, shard: number): MemoryDisk {
  if (shard === 0) return disk;
  const other = disk.others.get(shard) ?? createMemoryDisk(disk);
  disk.others.set(shard, other);
  return other;
}

export function shelfOf(disk: MemoryDisk, agentNo: number): AgentShelf {
  const known = disk.shelves.get(agentNo);
  if (known !== undefined) return known;
  const shelf: AgentShelf = { through: 0, signals: [], hours: new Map() };
  disk.shelves.set(agentNo, shelf);
  return shelf;
}

/** Index of the first entry whose id is larger than `id`, in a list ordered by id. */
export function firstAfter(list: readonly { readonly id: number }[], id: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle]?.id ?? 0) <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Adds an entry in order of ids; one that is already there stays as it is. */
export function insertById<T extends { readonly id: number }>(list: T[], entry: T): void {
  const last = list[list.length - 1];
  if (last === undefined || last.id < entry.id) {
    list.push(entry);
    return;
  }
  const place = firstAfter(list, entry.id);
  if (list[place - 1]?.id !== entry.id) list.splice(place, 0, entry);
}
