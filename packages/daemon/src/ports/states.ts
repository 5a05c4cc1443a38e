/**
 * The large states of checkpoints, each under the SHA-256 of its canonical JSON. The promises:
 * - `put` resolves when the whole state is on the disk and survives the death of the process and of the machine. Before
 *   that, `get` gives what was there before. Put twice, it is there once, and a damaged one is right again.
 * - `get` gives what is there, or `null`. The reader checks it by its hash.
 * - `remove` of what is not there is fine.
 * - `list` gives the hashes after a given one in ascending order. What a crash left half-written is not among them.
 * - What the disk refuses is a `Fault` `store-unavailable`, retryable, and nothing half-written is left under the hash.
 */
export interface States {
  put(stateHash: string, canonicalJson: string): Promise<void>;
  get(stateHash: string): Promise<string | null>;
  remove(stateHash: string): Promise<void>;
  list(after: string | null, limit: number): Promise<string[]>;
}
