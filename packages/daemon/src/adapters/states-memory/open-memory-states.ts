import type { States } from "../../ports/states.ts";

/** What survives when the monitor dies: the next one opens the same. */
export type MemoryFolder = Map<string, string>;

/** For tests and simulations: a folder that a disk never refuses. */
export function openMemoryStates(folder: MemoryFolder = new Map()): States {
  return {
    put: async (stateHash, canonicalJson) => void folder.set(stateHash, canonicalJson),
    get: async (stateHash) => folder.get(stateHash) ?? null,
    remove: async (stateHash) => void folder.delete(stateHash),
    list: async (after, limit) =>
      [...folder.keys()]
        .filter((stateHash) => after === null || stateHash > after)
        .sort()
        .slice(0, limit),
  };
}
