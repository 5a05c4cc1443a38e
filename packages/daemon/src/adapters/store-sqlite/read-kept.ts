import type { Database } from "better-sqlite3";
import type { AuditQuery, SavedCheckpoint, SavedHead } from "../../ports/store.ts";
import { narrow } from "./narrow.ts";
import type { PackedLine } from "./thread-messages.ts";

/** The audit, marks and checkpoints: few, and each found by an index of its own. */
export function prepareReadingKept(db: Database) {
  const head = "id, task_id AS taskId, number, time, head";
  const heads = db.prepare<[string, number], SavedHead>(
    `SELECT ${head} FROM checkpoints WHERE task_id = ? ORDER BY number DESC LIMIT ?`,
  );
  const checkpoint = db.prepare<[string], CheckpointRow>(
    `SELECT ${head}, state, state_file AS stateFile FROM checkpoints WHERE id = ?`,
  );
  const reference = db.prepare<[string], number>("SELECT 1 FROM checkpoints WHERE state_file = ? LIMIT 1").pluck();
  const mark = db.prepare<[string], string>("SELECT value FROM marks WHERE key = ?").pluck();
  return {
    readAudit: (query: AuditQuery): PackedLine[] => readAudit(db, query),
    readMark: (key: string): string | null => mark.get(key) ?? null,
    readCheckpoints: ({ taskId, limit }: { readonly taskId: string; readonly limit: number }): SavedHead[] =>
      heads.all(taskId, limit),
    findCheckpoint(id: string): SavedCheckpoint | null {
      const row = checkpoint.get(id);
      return row === undefined ? null : toCheckpoint(row);
    },
    refersToState: (stateHash: string): boolean => reference.get(stateHash) !== undefined,
  };
}

interface CheckpointRow extends SavedHead {
  readonly state: string | null;
  readonly stateFile: string | null;
}

const toCheckpoint = ({ stateFile, ...saved }: CheckpointRow): SavedCheckpoint =>
  saved.state === null && stateFile === null ? { ...saved, stateForgotten: true } : saved;

function readAudit(db: Database, query: AuditQuery): PackedLine[] {
  const { where, values } = narrow([
    ["number > ?", query.after],
    ["subject = ?", query.subject],
  ]);
  return db
    .prepare<unknown[], PackedLine>(
      `SELECT number, time, actor, action, subject, reason, evidence, policy, before, hash, signature FROM audit ${where}
       ORDER BY number ${query.newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    )
    .all(...values, query.limit);
}
