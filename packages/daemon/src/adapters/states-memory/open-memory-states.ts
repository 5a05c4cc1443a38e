import type { States } from "../../ports/states.ts";

/** What survives the death of a monitor: the next one opens the same folder. */
export type MemoryFolder = Map<string, string>;

/** The port in memory, for tests and simulations. */
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
