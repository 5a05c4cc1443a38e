import type { Database, Statement } from "better-sqlite3";
import type { AuditEntry, EventQuery, SavedSignal } from "../../ports/store.ts";
import type { Chains } from "./chain-signals.ts";
import { packSignals } from "./pack.ts";
import type { PackedEvent, PackedSignals } from "./thread-messages.ts";

/** Rows as arrays: with names for the columns, reading takes twice as long. */
export type SignalRow = [
  id: number,
  agentNo: number,
  before: number,
  at: number,
  time: number,
  kind: SavedSignal["kind"],
  body: string,
];

export const toSignal = ([id, agentNo, , at, time, kind, body]: SignalRow): SavedSignal => ({
  id,
  agentNo,
  at,
  time,
  kind,
  body,
});

export const prepareSignals = <P extends unknown[]>(db: Database, which: string): Statement<P, SignalRow> =>
  db.prepare<P, SignalRow>(`SELECT id, agent_no, before, at, time, kind, body FROM signals ${which}`).raw();

export function prepareReading(db: Database, chains: Chains) {
  const signalById = prepareSignals<[number]>(db, "WHERE id = ?");
  const audit = db.prepare<[number], AuditEntry>(
    "SELECT time, actor, action, reason FROM audit ORDER BY id DESC LIMIT ?",
  );

  return {
    readBeats(agentNo: number, limit: number): PackedSignals {
      const beats: SavedSignal[] = [];
      let row = signalById.get(chains.newestOf(agentNo));
      while (row !== undefined && beats.length < limit) {
        const [, , before, , , kind] = row;
        if (kind === "heartbeat") beats.push(toSignal(row));
        row = signalById.get(before);
      }
      return packSignals(beats);
    },

    readAudit: (limit: number): AuditEntry[] => audit.all(limit),

    readEvents: (query: EventQuery): PackedEvent[] => readEvents(db, query),
  };
}

function readEvents(db: Database, query: EventQuery): PackedEvent[] {
  const wanted: [string, string | number | undefined][] = [
    ["id > ?", query.after],
    ["agent_id = ?", query.agentId],
    ["type IN (SELECT value FROM json_each(?))", query.types && JSON.stringify(query.types)],
    ["time >= ?", query.since],
    ["time <= ?", query.until],
  ];
  const asked = wanted.filter(([, value]) => value !== undefined);
  const where = asked.length === 0 ? "" : `WHERE ${asked.map(([condition]) => condition).join(" AND ")}`;
  return db
    .prepare<unknown[], PackedEvent>(
      `SELECT id, time, agent_id AS agentId, type, payload FROM events ${where}
       ORDER BY id ${query.newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    )
    .all(...asked.map(([, value]) => value), query.limit);
}
