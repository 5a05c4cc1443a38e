import { type DatabaseSync, prepareArrays } from "@rouse/holder/load-sqlite";

/** How many signals a start may have to look through to find the ends of the chains: about 40 ms. */
const signalsBetweenSnapshots = 32_768;

/** No agent has this number. It fills the snapshot of an empty store: Node 22 takes an empty blob for NULL. */
const nobody = -1;

/**
 * The newest signal of each agent, where its chain of signals (column `before`) begins. Chains are kept in memory. A
 * snapshot of them goes to disk every so often, and a start reads the snapshot and the signals after it.
 */
export interface Chains {
  /** Newest signal of an agent, 0 when there is none. */
  newestOf(agentNo: number): number;
  /** agentNo and newest signal of every agent. */
  all(): Iterable<[number, number]>;
  /** The highest signal id there is, or was when a snapshot was made. */
  highest(): number;
  /** Puts a new signal in its place; returns the one before it, or `null` when it is already there. */
  link(agentNo: number, id: number): number | null;
  /** An agent is removed. Returns its newest signal, 0 when there is none. */
  unlink(agentNo: number): number;
  /** Called at the end of a transaction that linked or unlinked. */
  saveNowAndThen(): void;
  /** Called after such a transaction was rolled back: the chains are read anew when they are next needed. */
  forget(): void;
}

export function openChains(db: DatabaseSync): Chains {
  const statements = prepare(db);
  const newest = new Map<number, number>();
  let highest = 0;
  let sinceSnapshot = 0;
  let isLoaded = false;

  function load(): void {
    if (isLoaded) return;
    newest.clear();
    const snapshot = statements.readSnapshot.get();
    const pairs =
      snapshot === undefined ? new Float64Array() : new Float64Array(new Uint8Array(snapshot.newest).buffer);
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] !== nobody) newest.set(pairs[i] ?? 0, pairs[i + 1] ?? 0);
    highest = snapshot?.through ?? 0;
    sinceSnapshot = 0;
    for (const [id, agentNo] of statements.readAfter.iterate(highest)) {
      newest.set(agentNo, id);
      highest = id;
      sinceSnapshot++;
    }
    isLoaded = true;
  }

  function save(): void {
    const pairs = new Float64Array(Math.max(1, newest.size) * 2).fill(nobody);
    let i = 0;
    for (const [agentNo, id] of newest) {
      pairs[i++] = agentNo;
      pairs[i++] = id;
    }
    statements.writeSnapshot.run(highest, new Uint8Array(pairs.buffer));
    sinceSnapshot = 0;
  }

  /** Links a signal older than some already saved: its commit failed and was tried again after a later one. */
  function linkLate(agentNo: number, id: number): number | null {
    if (statements.exists.get(id) !== undefined) return null;
    let after = 0;
    let before = newest.get(agentNo) ?? 0;
    while (before > id) {
      after = before;
      before = statements.readBefore.get(before)?.before ?? 0;
    }
    if (after === 0) newest.set(agentNo, id);
    else statements.relink.run(id, after);
    // A start looks only at ids after the snapshot, so the snapshot has to know this one.
    sinceSnapshot = signalsBetweenSnapshots;
    return before;
  }

  return {
    newestOf(agentNo) {
      load();
      return newest.get(agentNo) ?? 0;
    },
    all() {
      load();
      return newest;
    },
    highest() {
      load();
      return highest;
    },
    link(agentNo, id) {
      load();
      if (id <= highest) return linkLate(agentNo, id);
      const before = newest.get(agentNo) ?? 0;
      newest.set(agentNo, id);
      highest = id;
      sinceSnapshot++;
      return before;
    },
    unlink(agentNo) {
      load();
      const last = newest.get(agentNo) ?? 0;
      newest.delete(agentNo);
      // A start learns the highest id from the signals, and the signal that has it is removed.
      if (last === highest && last !== 0) sinceSnapshot = signalsBetweenSnapshots;
      return last;
    },
    saveNowAndThen() {
      if (sinceSnapshot >= signalsBetweenSnapshots) save();
    },
    forget() {
      isLoaded = false;
    },
  };
}

function prepare(db: DatabaseSync) {
  return {
    readSnapshot: db.prepare<[], { through: number; newest: Uint8Array }>("SELECT through, newest FROM chains"),
    writeSnapshot: db.prepare<[number, Uint8Array]>(
      "INSERT OR REPLACE INTO chains (only, through, newest) VALUES (1, ?, ?)",
    ),
    readAfter: prepareArrays<[number], [number, number]>(
      db,
      "SELECT id, agent_no FROM signals WHERE id > ? ORDER BY id",
    ),
    exists: db.prepare<[number]>("SELECT 1 FROM signals WHERE id = ?"),
    readBefore: db.prepare<[number], { before: number }>("SELECT before FROM signals WHERE id = ?"),
    relink: db.prepare<[number, number]>("UPDATE signals SET before = ? WHERE id = ?"),
  };
}
