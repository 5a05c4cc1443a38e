import type { DatabaseSync } from "@rouse/holder/load-sqlite";
import type { RetentionOrder } from "../../ports/store.ts";
import { addOlder, countsIn, type Stretches, type StretchPart } from "./fold-stretches.ts";
import { prepareForgetting } from "./forget-old.ts";
import { transact } from "./transact.ts";

/** A commit that arrives during a step waits for it: 5 to 25 ms. */
const rowsPerStep = 500;

const hour = 3_600_000;

interface OldSignal {
  readonly id: number;
  readonly agentNo: number;
  readonly time: number;
  readonly kind: string;
  readonly body: string;
  readonly through: number | null;
}

/** One small step; true while there is more to do. Rolled-up beats and the row that replaces them change in one transaction. */
export function prepareTidying(db: DatabaseSync): (order: RetentionOrder) => boolean {
  const statements = prepare(db);
  const forget = prepareForgetting(db);
  /** Signals are looked through in order of their ids; a step goes on where the last one stopped. */
  let lookedThrough = 0;

  function tidySignals(order: RetentionOrder): number {
    const rows = statements.readSignals.all(lookedThrough, rowsPerStep);
    const young = rows.findIndex(({ time }) => time >= order.now - order.beats && time <= order.now);
    const looked = young === -1 ? rows : rows.slice(0, young);
    // Not what resuming still needs, nor what a clock that ran ahead dated into the future: that one is passed over, not waited for.
    const old = looked.filter(({ id, through, time }) => id <= (through ?? 0) && time < order.now - order.beats);
    rollUp(old.filter(({ kind }) => kind === "heartbeat"));
    for (const { id } of old) statements.removeSignal.run(id);
    const isThrough = looked.length < rowsPerStep;
    lookedThrough = isThrough ? 0 : (looked.at(-1)?.id ?? 0);
    return isThrough ? old.length : rowsPerStep;
  }

  function rollUp(beats: readonly OldSignal[]): void {
    const byAgent = new Map<number, Stretches>();
    for (const { agentNo, time, body } of beats.toReversed()) {
      const hours: Stretches = byAgent.get(agentNo) ?? new Map();
      byAgent.set(agentNo, hours);
      addOlder(hours, { nth: Math.ceil(time / hour), beats: 1, ...countsIn(body) });
    }
    for (const [agentNo, hours] of byAgent) for (const part of hours.values()) writeHour(agentNo, part);
  }

  function writeHour(agentNo: number, { nth, beats, tokenCount, errorCount, toolCallCount }: StretchPart): void {
    statements.addHour.run(agentNo, nth * hour, beats, tokenCount, errorCount, toolCallCount);
  }

  return (order) =>
    transact(db, () => {
      let left = rowsPerStep - tidySignals(order);
      for (const part of forget) if (left > 0) left -= part(order, left);
      return left <= 0;
    });
}

function prepare(db: DatabaseSync) {
  return {
    readSignals: db.prepare<[number, number], OldSignal>(
      `SELECT s.id, s.agent_no AS agentNo, s.time, s.kind, s.body, a.through
       FROM signals s LEFT JOIN agents a ON a.no = s.agent_no WHERE s.id > ? ORDER BY s.id LIMIT ?`,
    ),
    removeSignal: db.prepare<[number]>("DELETE FROM signals WHERE id = ?"),
    // What is added is newer than what is there, so its values win where it has any. `hour` is the end of the hour.
    addHour: db.prepare<[number, number, number, number | null, number | null, number | null]>(
      `INSERT INTO beat_hours (agent_no, hour, beats, token_count, error_count, tool_call_count) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (agent_no, hour) DO UPDATE SET beats = beats + excluded.beats,
         token_count = coalesce(excluded.token_count, token_count),
         error_count = coalesce(excluded.error_count, error_count),
         tool_call_count = coalesce(excluded.tool_call_count, tool_call_count)`,
    ),
  };
}
