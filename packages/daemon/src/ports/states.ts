/**
 * Where the large states of checkpoints lie, each under the SHA-256 of its canonical JSON. The promises:
 * - `put` resolves when the state is on the disk, whole, where it survives the death of the process and of the machine. Before that, `get` gives
 *   what was there before. Put twice, it lies there once, and one that was damaged is right again.
 * - `get` gives what lies there as it is, or `null` when nothing does. Whether it is still what was put is for the reader to tell, by its hash.
 * - `remove` of what is not there is fine.
 * - `list` gives the hashes that are there in ascending order, those after a given one. What a death left half-written is not among them.
 * - What the disk refuses is a `Fault` `store-unavailable`, retryable, and nothing half-written is left under the hash.
 */
export interface States {
  put(stateHash: string, canonicalJson: string): Promise<void>;
  get(stateHash: string): Promise<string | null>;
  remove(stateHash: string): Promise<void>;
  list(after: string | null, limit: number): Promise<string[]>;
}
