import type { Database } from "better-sqlite3";
import type { RetentionOrder } from "../../ports/store.ts";

/** Removes at most so many rows and returns how many it was. */
type Forget = (order: RetentionOrder, most: number) => number;

/** What is older than the history goes, kind by kind. */
export const prepareForgetting = (db: Database): readonly Forget[] => [
  forgetRows(db, "events", "time"),
  forgetRows(db, "beat_hours", "hour"),
  forgetAudit(db),
  forgetTasks(db),
];

function forgetRows(db: Database, table: string, column: string): Forget {
  const remove = db.prepare<[number, number]>(`DELETE FROM ${table} WHERE ${column} < ? LIMIT ?`);
  return ({ now, history }, most) => remove.run(now - history, most).changes;
}

function forgetAudit(db: Database): Forget {
  const remove = db.prepare<[number, number]>(
    "DELETE FROM audit WHERE number <= ? AND number < (SELECT max(number) FROM audit) ORDER BY number LIMIT ?",
  );
  return ({ auditThrough = 0 }, most) => remove.run(auditThrough, most).changes;
}

/** Checkpoints first, from the oldest on: a task that is there has its newest checkpoint. */
function forgetTasks(db: Database): Forget {
  const over = db
    .prepare<[number, number], string>("SELECT id FROM tasks WHERE over_at < ? ORDER BY over_at LIMIT ?")
    .pluck();
  const removeCheckpoints = db.prepare<[string, number]>(
    "DELETE FROM checkpoints WHERE task_id = ? ORDER BY number LIMIT ?",
  );
  const removeTask = db.prepare<[string]>("DELETE FROM tasks WHERE id = ?");
  return ({ now, history }, most) => {
    let left = most;
    for (const taskId of over.all(now - history, most)) {
      left -= removeCheckpoints.run(taskId, left).changes;
      if (left <= 0) break;
      left -= removeTask.run(taskId).changes;
      if (left <= 0) break;
    }
    return most - left;
  };
}
