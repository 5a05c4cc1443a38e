import { type DatabaseSync, prepareArrays } from "@rouse/holder/load-sqlite";
import type { AuditPlace, IntendedAction, KeptMachine, SavedMachine, SavedSignal } from "../../ports/store.ts";
import type { Chains } from "./chain-signals.ts";
import { packRecords, packSignals } from "./pack.ts";
import { prepareSignals, type SignalRow, toSignal } from "./read-back.ts";
import type { PackedRecords, PackedRest } from "./thread-messages.ts";

/** Records travel in parts: 100,000 at once would fill this thread's memory twice over. */
const recordsPerPart = 2000;
const machinesPerPart = 2000;
const signalsPerLook = 5000;

export function prepareResuming(db: DatabaseSync, chains: Chains) {
  const signalById = prepareSignals<[number]>(db, "WHERE id = ?");
  const newestBefore = prepareSignals<[number, number]>(db, "WHERE id < ? ORDER BY id DESC LIMIT ?");
  const records = prepareArrays<[number, number], [number, string, number, string]>(
    db,
    "SELECT no, id, through, record FROM agents WHERE no > ? ORDER BY no LIMIT ?",
  );
  const actions = db.prepare<[], IntendedAction>(
    "SELECT key, agent_id AS agentId, created_at AS createdAt, body FROM actions ORDER BY created_at, key",
  );
  const machines = db.prepare<[string, string, number], KeptMachine>(
    `SELECT machine, id, record, over_at AS overAt FROM machines WHERE (machine, id) > (?, ?)
     ORDER BY machine, id LIMIT ?`,
  );
  const lastAudit = db.prepare<[], AuditPlace>(
    "SELECT CAST(number AS REAL) AS number, hash FROM audit ORDER BY audit.number DESC LIMIT 1",
  );
  const marks = prepareArrays<[], [string, string]>(db, "SELECT key, value FROM marks");
  const lastEvent = db.prepare<[], { seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'events'");

  /**
   * What resuming needs lies nearly always among the last signals of all, and reading those in order is twice as quick
   * as following each agent's chain. Where it thins out (the record of some agent was not saved for long), chains are
   * followed.
   */
  function signalsAfter(throughs: ReadonlyMap<number, number>): SavedSignal[] {
    const found: SavedSignal[] = [];
    /** The newest signal of each agent that is needed and not yet found. */
    const next = new Map<number, number>();
    const expect = (agentNo: number, id: number) => {
      if (id > (throughs.get(agentNo) ?? 0)) next.set(agentNo, id);
      else next.delete(agentNo);
    };
    const takeIfExpected = (row: SignalRow): boolean => {
      const [id, agentNo, before] = row;
      if (next.get(agentNo) !== id) return false;
      found.push(toSignal(row));
      expect(agentNo, before);
      return true;
    };
    const nextOf = (agentNo: number) => signalById.get(next.get(agentNo) ?? 0);

    for (const [agentNo, id] of chains.all()) expect(agentNo, id);
    for (let before = chains.highest() + 1, isWorthIt = true; next.size > 0 && isWorthIt; ) {
      const had = found.length;
      const rows = newestBefore.all(before, signalsPerLook);
      for (const row of rows) takeIfExpected(row);
      isWorthIt = found.length - had > signalsPerLook / 4;
      before = rows.at(-1)?.[0] ?? 0;
    }
    for (const agentNo of [...next.keys()]) {
      for (let row = nextOf(agentNo); row && takeIfExpected(row); ) row = nextOf(agentNo);
    }
    return found.sort((a, b) => a.id - b.id);
  }

  return {
    readRecords(afterAgentNo: number): PackedRecords {
      const rows = records.all(afterAgentNo, recordsPerPart);
      return packRecords(rows.map(([agentNo, agentId, through, record]) => ({ agentNo, agentId, through, record })));
    },

    readMachines: ({ machine, id }: Pick<SavedMachine, "machine" | "id">): KeptMachine[] =>
      machines.all(machine, id, machinesPerPart),

    /** All but machines and records; the records' `through`s (agentNo, through, …) say which signals are needed. */
    readRest(throughs: Float64Array): PackedRest {
      const byAgent = new Map<number, number>();
      let lastSignalId = chains.highest();
      for (let i = 0; i < throughs.length; i += 2) {
        const through = throughs[i + 1] ?? 0;
        byAgent.set(throughs[i] ?? 0, through);
        // Tidying removes signals that are part of a record, so `through` may be higher than any signal left.
        lastSignalId = Math.max(lastSignalId, through);
      }
      return {
        signals: packSignals(signalsAfter(byAgent)),
        actions: actions.all(),
        lastAudit: lastAudit.get() ?? null,
        marks: Object.fromEntries(marks.all()),
        lastSignalId,
        lastEventId: lastEvent.get()?.seq ?? 0,
      };
    },
  };
}
