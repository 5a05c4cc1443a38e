import type { DatabaseSync } from "@rouse/holder/load-sqlite";
import { type RetentionOrder, type SavedMachine, type StatesToKeep, taskMachine } from "../../ports/store.ts";
import { surplusStates } from "../../ports/surplus-states.ts";
import { addOlder, countsIn, type Stretches, type StretchPart } from "./fold-stretches.ts";
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

/** One small step, in one transaction; true while there is more to do. */
export function prepareTidying(db: DatabaseSync): (order: RetentionOrder) => boolean {
  const statements = prepare(db);
  const forget = prepareForgetting(db);
  /** The last signal id looked at: a step goes on where the one before stopped. */
  let lookedThrough = 0;

  function tidySignals(order: RetentionOrder): number {
    const rows = statements.readSignals.all(lookedThrough, rowsPerStep);
    const young = rows.findIndex(({ time }) => time >= order.now - order.beats && time <= order.now);
    const looked = young === -1 ? rows : rows.slice(0, young);
    // Signals that resuming still needs stay, and so do those that a fast clock dated into the future.
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
    // Added values are newer than those in the row, so they win where they are set. `hour` is the end of the hour.
    addHour: db.prepare<[number, number, number, number | null, number | null, number | null]>(
      `INSERT INTO beat_hours (agent_no, hour, beats, token_count, error_count, tool_call_count) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (agent_no, hour) DO UPDATE SET beats = beats + excluded.beats,
         token_count = coalesce(excluded.token_count, token_count),
         error_count = coalesce(excluded.error_count, error_count),
         tool_call_count = coalesce(excluded.tool_call_count, tool_call_count)`,
    ),
  };
}

/** Removes at most so many rows and returns how many it was. */
type Forget = (order: RetentionOrder, most: number) => number;

/** Removes what is older than the history, kind by kind. */
const prepareForgetting = (db: DatabaseSync): readonly Forget[] => [
  forgetRows(db, "events", "id", "time"),
  forgetRows(db, "beat_hours", "agent_no, hour", "hour"),
  forgetAudit(db),
  forgetWhatIsOver(db),
];

/** Rows are selected first, because Node's SQLite is built without DELETE … LIMIT. */
function forgetRows(db: DatabaseSync, table: string, key: string, column: string): Forget {
  const remove = db.prepare<[number, number]>(
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${column} < ? LIMIT ?)`,
  );
  return ({ now, history }, most) => remove.run(now - history, most).changes;
}

function forgetAudit(db: DatabaseSync): Forget {
  const remove = db.prepare<[number, number]>(
    `DELETE FROM audit WHERE number IN (
       SELECT number FROM audit WHERE number <= ? AND number < (SELECT max(number) FROM audit) ORDER BY number LIMIT ?)`,
  );
  return ({ auditThrough = 0 }, most) => remove.run(auditThrough, most).changes;
}

/** A task's checkpoints go first, the oldest first: a task that is there has its newest checkpoint. */
function forgetWhatIsOver(db: DatabaseSync): Forget {
  const over = db.prepare<[number, number], Pick<SavedMachine, "machine" | "id">>(
    "SELECT machine, id FROM machines WHERE over_at < ? ORDER BY over_at LIMIT ?",
  );
  const removeCheckpoints = db.prepare<[string, number]>(
    "DELETE FROM checkpoints WHERE id IN (SELECT id FROM checkpoints WHERE task_id = ? ORDER BY number LIMIT ?)",
  );
  const remove = db.prepare<[string, string]>("DELETE FROM machines WHERE machine = ? AND id = ?");
  return ({ now, history }, most) => {
    let left = most;
    for (const { machine, id } of over.all(now - history, most)) {
      if (machine === taskMachine) left -= removeCheckpoints.run(id, left).changes;
      if (left <= 0) break;
      left -= remove.run(machine, id).changes;
      if (left <= 0) break;
    }
    return most - left;
  };
}

interface StateRow {
  readonly id: string;
  readonly head: string;
  readonly file: string | null;
  readonly forgotten: 0 | 1;
}

/** A forgotten state is neither in the row nor in a file. */
export function prepareForgettingStates(db: DatabaseSync) {
  const newestFirst = db.prepare<[string], StateRow>(
    `SELECT id, head, state_file AS file, state IS NULL AND state_file IS NULL AS forgotten
     FROM checkpoints WHERE task_id = ? ORDER BY number DESC`,
  );
  const forget = db.prepare<[string]>("UPDATE checkpoints SET state = NULL, state_file = NULL WHERE id = ?");

  function* statesOf(taskId: string) {
    for (const row of newestFirst.iterate(taskId)) yield { ...row, isForgotten: row.forgotten === 1 };
  }

  return ({ taskId, keep }: { readonly taskId: string; readonly keep: StatesToKeep }): string[] =>
    transact(db, () => {
      const surplus = surplusStates(statesOf(taskId), keep);
      for (const { id } of surplus) forget.run(id);
      return surplus.flatMap(({ file }) => file ?? []);
    });
}
