import { realpathSync } from "node:fs";
import type { EpochMs } from "@rouse/contract";
import { DatabaseSync, readOnce, sqliteCodeOf } from "../load-sqlite.ts";
import { isPlainFile } from "../read-plain-file.ts";
import type { FileTail } from "./tail-file.ts";

/**
 * The conversations that opencode had with a person in this folder since then, latest first. Those of its subagents are
 * left out. Its tables are undocumented: `null` where they are not as expected, or not there yet.
 */
export function findConversations(file: string, folder: string, since: EpochMs): readonly string[] | null {
  const rows = read(file, (db) =>
    readOnce<[string]>(
      db,
      "id",
      `SELECT id FROM session WHERE directory = ? AND parent_id IS NULL AND time_updated >= ?
        AND EXISTS (SELECT 1 FROM event WHERE aggregate_id = session.id) ORDER BY time_updated DESC LIMIT 10`,
      folder,
      since,
    ),
  );
  return rows?.map(([id]) => id) ?? null;
}

/** In events. A resumed conversation may be long; what was said before this life is not looked at anyway. */
const furthestBack = 2000;
/** The rest waits for the next look: this process does nothing else while it reads. */
const eventsPerLook = 200;
const longestEvent = 1024 * 1024;

type Row = [seq: number, type: string, data: string | null];

/** The events of a conversation as lines of JSON, as if they stood in a file. Events that are too long are left out. */
export function tailConversation(file: string, conversation: string): FileTail {
  let last: number | null = null;

  return {
    look() {
      const rows = read(file, (db) => {
        last ??= beginning(db, conversation);
        return readOnce<Row>(
          db,
          "seq, type, data",
          `SELECT seq, type, CASE WHEN length(data) <= ? THEN data END AS data FROM event
            WHERE aggregate_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
          longestEvent,
          conversation,
          last,
          eventsPerLook,
        );
      });
      last = rows?.at(-1)?.[0] ?? last;
      return (rows ?? []).flatMap(([, type, data]) =>
        data === null ? [] : [`{"type":${JSON.stringify(type)},"data":${data}}`],
      );
    },
  };
}

function beginning(db: DatabaseSync, conversation: string): number {
  const newest = "SELECT max(seq) AS newest FROM event WHERE aggregate_id = ?";
  const [row] = readOnce<[number | null]>(db, "newest", newest, conversation);
  return Math.max(0, (row?.[0] ?? 0) - furthestBack) - 1;
}

/**
 * The database is opened anew for each look, and only to read, so it never blocks the program that writes. Where that
 * program has closed it, reading would create files beside it and leave them there, so it is not read. What cannot be
 * read now may be readable later.
 */
function read<T>(file: string, look: (db: DatabaseSync) => T): T | null {
  if (!isReadable(file)) return null;
  try {
    const db = new DatabaseSync(file, { readOnly: true, timeout: 0 });
    try {
      return look(db);
    } finally {
      db.close();
    }
  } catch (error) {
    if (sqliteCodeOf(error) !== null) return null;
    throw error;
  }
}

/**
 * SQLite also opens the files beside the database, where a link leads to; a pipe among them would block us for ever.
 */
function isReadable(file: string): boolean {
  if (!isPlainFile(file)) return false;
  const at = realpathSync(file);
  return isPlainFile(`${at}-wal`) && isPlainFile(`${at}-shm`);
}
