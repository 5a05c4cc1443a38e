import { Fault } from "@rouse/contract";
import type { Store } from "../../ports/store.ts";
import { forgetOldStates } from "./forget-states.ts";
import { createMemoryDisk, type MemoryDisk, shardOf } from "./memory-disk.ts";
import { findAudit, findCheckpoints, isStateNeeded } from "./read-kept.ts";
import { findBeats, findEvents, findHistory, findSteps, readResumption } from "./read-memory.ts";
import { tidyDisk } from "./tidy-memory.ts";
import { applyCommit } from "./write-memory.ts";

/** The port in memory: for tests and simulations, and as quick as they need it. */
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
    resume: async () => readResumption(stillOpen()),
    commit: async (commit) => applyCommit(stillOpen(), commit),
    readEvents: async (query) => findEvents(stillOpen(), query),
    readBeats: async (agentNo, limit, before) => findBeats(stillOpen(), agentNo, limit, before),
    readSteps: async (agentNo, before, limit) => findSteps(stillOpen(), agentNo, before, limit),
    readHistory: async (agentNo, from, to, step) => findHistory(stillOpen(), agentNo, from, to, step),
    readAudit: async (query) => findAudit(stillOpen(), query),
    readCheckpoints: async (taskId, limit, before) => findCheckpoints(stillOpen(), taskId, limit, before),
    findCheckpoint: async (id) => stillOpen().checkpoints.get(id) ?? null,
    refersToState: async (stateHash) => isStateNeeded(stillOpen(), stateHash),
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
