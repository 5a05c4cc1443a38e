import type { DatabaseSync } from "@rouse/holder/load-sqlite";
import type { Chains } from "./chain-signals.ts";
import { addOlder, countsIn, type Stretches } from "./fold-stretches.ts";
import { prepareSignals } from "./read-back.ts";
import type { HistoryPart, HistoryQuestion } from "./thread-messages.ts";

/** A day of beats takes a while to read; commits get their turn between the parts. */
const signalsPerPart = 1000;

/** The wall clock may have been wrong for a moment, so a single beat from before the range does not end the search. */
const oldOnesInARow = 100;

interface HourRow {
  readonly hour: number;
  readonly beats: number;
  readonly tokenCount: number | null;
  readonly errorCount: number | null;
  readonly toolCallCount: number | null;
}

export function prepareHistory(db: DatabaseSync, chains: Chains): (question: HistoryQuestion) => HistoryPart {
  const signalById = prepareSignals<[number]>(db, "WHERE id = ?");
  const hours = db.prepare<[number, number, number], HourRow>(
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
  // Parsing costs more than reading; it is needed only until the last values of the stretch are known.
  const isKnown = known && known.tokenCount !== null && known.errorCount !== null && known.toolCallCount !== null;
  addOlder(stretches, { nth, beats: 1, ...(isKnown ? unknown : countsIn(body)) });
}
