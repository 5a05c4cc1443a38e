import type { DatabaseSync } from "@rouse/holder/load-sqlite";
import type { AuditQuery, SavedCheckpoint, SavedHead } from "../../ports/store.ts";
import { narrow } from "./narrow.ts";
import type { Calls, PackedLine } from "./thread-messages.ts";

/*
 * The drivers cut a text off at a NUL, when they read or write it, and a line of the audit trail would no longer be
 * what was hashed. So a text with a NUL travels as bytes: SQL makes a text of them when it is written, `fromWhole` when
 * read.
 */

/** For a place where SQL says `CAST(? AS TEXT)`. */
export const toWhole = (text: string | null): string | Uint8Array | null =>
  text?.includes("\0") ? Buffer.from(text) : text;

/** Selects a column of texts for `fromWhole`. */
const selectWhole = (column: string): string =>
  `iif(instr(CAST(${column} AS BLOB), x'00'), CAST(${column} AS BLOB), ${column}) AS ${column}`;

/** Bytes without a NUL were not written by us: they stay as they are, so that checking the trail finds them. */
const fromWhole = (value: unknown): unknown =>
  value instanceof Uint8Array && value.includes(0) ? Buffer.from(value).toString() : value;

/** Reads the audit trail, marks and checkpoints: few rows, each found by an index. */
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

/** A tampered trail may hold numbers that are not safe integers: they are to be shown, so reading must not throw. */
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
