import type { DatabaseSync } from "@rouse/holder/load-sqlite";
import { type RetentionOrder, type SavedMachine, taskMachine } from "../../ports/store.ts";

/** Removes at most so many rows and returns how many it was. */
type Forget = (order: RetentionOrder, most: number) => number;

/** What is older than the history goes, kind by kind. */
export const prepareForgetting = (db: DatabaseSync): readonly Forget[] => [
  forgetRows(db, "events", "id", "time"),
  forgetRows(db, "beat_hours", "agent_no, hour", "hour"),
  forgetAudit(db),
  forgetWhatIsOver(db),
];

/** Which rows go is chosen first: the SQLite inside Node knows no DELETE with a LIMIT of its own. */
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

/** A task's checkpoints first, from the oldest on: a task that is there has its newest checkpoint. */
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
