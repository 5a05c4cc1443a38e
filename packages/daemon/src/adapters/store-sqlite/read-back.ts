import { type DatabaseSync, prepareArrays, type Statement } from "@rouse/holder/load-sqlite";
import type { EventQuery, SavedSignal } from "../../ports/store.ts";
import type { Chains } from "./chain-signals.ts";
import { narrow } from "./narrow.ts";
import { packSignals } from "./pack.ts";
import type { PackedEvent, PackedSignals } from "./thread-messages.ts";

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

const tellsOfSteps = (kind: SavedSignal["kind"]): boolean => kind === "steps" || kind === "holder";

export const prepareSignals = <P extends unknown[]>(db: DatabaseSync, which: string): Statement<P, SignalRow> =>
  prepareArrays<P, SignalRow>(db, `SELECT id, agent_no, before, at, time, kind, body FROM signals ${which}`);

export function prepareReading(db: DatabaseSync, chains: Chains) {
  const signalById = prepareSignals<[number]>(db, "WHERE id = ?");
  /** The agent's newest signal, or the newest below an id, which need not be one of its own, nor be there any more. */
  function newestBelow(agentNo: number, before: number | null): number {
    if (before === null) return chains.newestOf(agentNo);
    const row = signalById.get(before);
    if (row?.[1] === agentNo) return row[2];
    let id = chains.newestOf(agentNo);
    while (id >= before) id = signalById.get(id)?.[2] ?? 0;
    return id;
  }

  /** Follows the agent's chain from one of its signals back into the past. */
  function readBack(from: number, limit: number, isWanted: (kind: SavedSignal["kind"]) => boolean): PackedSignals {
    const found: SavedSignal[] = [];
    let row = signalById.get(from);
    while (row !== undefined && found.length < limit) {
      const [, , before, , , kind] = row;
      if (isWanted(kind)) found.push(toSignal(row));
      row = signalById.get(before);
    }
    return packSignals(found);
  }

  return {
    readBeats: (agentNo: number, before: number | null, limit: number): PackedSignals =>
      readBack(newestBelow(agentNo, before), limit, (kind) => kind === "heartbeat"),

    readSteps: (agentNo: number, before: number | null, limit: number): PackedSignals =>
      readBack(newestBelow(agentNo, before), limit, tellsOfSteps),

    readEvents: (query: EventQuery): PackedEvent[] => readEvents(db, query),
  };
}

function readEvents(db: DatabaseSync, query: EventQuery): PackedEvent[] {
  const { where, values } = narrow([
    ["id > ?", query.after],
    ["id < ?", query.before],
    ["agent_id = ?", query.agentId],
    ["type IN (SELECT value FROM json_each(?))", query.types && JSON.stringify(query.types)],
    ["time >= ?", query.since],
    ["time <= ?", query.until],
  ]);
  return db
    .prepare<unknown[], PackedEvent>(
      `SELECT id, time, agent_id AS agentId, type, payload FROM events ${where}
       ORDER BY id ${query.newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    )
    .all(...values, query.limit);
}
