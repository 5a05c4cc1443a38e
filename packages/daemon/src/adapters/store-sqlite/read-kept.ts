import type { DatabaseSync } from "@rouse/holder/load-sqlite";
import type { AuditQuery, SavedCheckpoint, SavedHead } from "../../ports/store.ts";
import { narrow } from "./narrow.ts";
import type { Calls, PackedLine } from "./thread-messages.ts";
import { fromWhole, selectWhole } from "./whole-text.ts";

/** The audit, marks and checkpoints: few, and each found by an index of its own. */
export function prepareReadingKept(db: DatabaseSync) {
  const head = "id, task_id AS taskId, number, time, head";
  const heads = db.prepare<[string, number, number], SavedHead>(
    `SELECT ${head} FROM checkpoints WHERE task_id = ? AND number < ? ORDER BY number DESC LIMIT ?`,
  );
  const checkpoint = db.prepare<[string], CheckpointRow>(
    `SELECT ${head}, state, state_file AS stateFile FROM checkpoints WHERE id = ?`,
  );
  const reference = db.prepare<[string]>("SELECT 1 FROM checkpoints WHERE state_file = ? LIMIT 1");
  const mark = db.prepare<[string], { value: string }>("SELECT value FROM marks WHERE key = ?");
  return {
    readAudit: (query: AuditQuery): PackedLine[] => readAudit(db, query),
    readMark: (key: string): string | null => mark.get(key)?.value ?? null,
    readCheckpoints: ({ taskId, before, limit }: Calls["readCheckpoints"]["ask"]): SavedHead[] =>
      heads.all(taskId, before, limit),
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

const auditTexts = [
  "time",
  "actor",
  "action",
  "subject",
  "reason",
  "evidence",
  "policy",
  "before",
  "hash",
  "signature",
];

/** Whoever wrote to the trail may have left numbers that are not safe to read as integers: they are to be shown, not thrown. */
const auditColumns = `CAST(number AS REAL) AS number, ${auditTexts.map(selectWhole).join(", ")}`;

function readAudit(db: DatabaseSync, query: AuditQuery): PackedLine[] {
  const { where, values } = narrow([
    ["number > ?", query.after],
    ["number < ?", query.before],
    ["subject = ?", query.subject],
  ]);
  return db
    .prepare<unknown[], PackedLine>(
      `SELECT ${auditColumns} FROM audit ${where}
       ORDER BY audit.number ${query.newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    )
    .all(...values, query.limit)
    .map(toLine);
}

const toLine = (row: PackedLine): PackedLine =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, fromWhole(value)])) as unknown as PackedLine;
