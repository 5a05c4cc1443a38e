import { type DatabaseSync, prepareArrays, type Statement } from "@rouse/holder/load-sqlite";
import type { EventQuery, SavedSignal } from "../../ports/store.ts";
import type { Chains } from "./chain-signals.ts";
import { addOlder, countsIn, type Stretches, type StretchPart } from "./fold-stretches.ts";
import { narrow } from "./narrow.ts";
import { packSignals } from "./pack.ts";
import type { HistoryPart, HistoryQuestion, PackedEvent, PackedSignals } from "./thread-messages.ts";

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
  /** The agent's newest signal, or its newest below an id, which may be of another agent or gone. */
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

/** A day of beats takes a while to read; commits get a turn between the parts. */
const signalsPerPart = 1000;

/** So many signals in a row from before the range end the search: a single one may have been dated by a wrong clock. */
const oldOnesInARow = 100;

export function prepareHistory(db: DatabaseSync, chains: Chains): (question: HistoryQuestion) => HistoryPart {
  const signalById = prepareSignals<[number]>(db, "WHERE id = ?");
  const hours = db.prepare<[number, number, number], Omit<StretchPart, "nth"> & { readonly hour: number }>(
    `SELECT hour, beats, token_count AS tokenCount, error_count AS errorCount, tool_call_count AS toolCallCount
     FROM beat_hours WHERE agent_no = ? AND hour > ? AND hour <= ? ORDER BY hour DESC`,
  );

  return (question) => {
    const { agentNo, from, to, step } = question;
    const stretches: Stretches = new Map();
    let id = question.resumeAt ?? chains.newestOf(agentNo);
    for (let read = 0, old = 0; old < oldOnesInARow; read++) {
      if (read === signalsPerPart) return { stretches: [...stretches.values()], resumeAt: id };
      const row = signalById.get(id);
      if (row === undefined) break;
      const [, , before, , time, kind, body] = row;
      old = time <= from ? old + 1 : 0;
      if (kind === "heartbeat" && time > from && time <= to) addBeat(stretches, nthStretch(time, from, step), body);
      id = before;
    }
    for (const { hour, ...counted } of hours.all(agentNo, from, to)) {
      addOlder(stretches, { nth: nthStretch(hour, from, step), ...counted });
    }
    return { stretches: [...stretches.values()], resumeAt: null };
  };
}

const nthStretch = (time: number, from: number, step: number): number => Math.ceil((time - from) / step);

const unknown = { tokenCount: null, errorCount: null, toolCallCount: null };

function addBeat(stretches: Stretches, nth: number, body: string): void {
  const known = stretches.get(nth);
  // Parsing costs more than reading, and is needed only until all values of the stretch are known.
  const isKnown = known && known.tokenCount !== null && known.errorCount !== null && known.toolCallCount !== null;
  addOlder(stretches, { nth, beats: 1, ...(isKnown ? unknown : countsIn(body)) });
}
