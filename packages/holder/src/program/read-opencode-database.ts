import { realpathSync } from "node:fs";
import type { EpochMs } from "@rouse/contract";
import { DatabaseSync, readOnce, sqliteCodeOf } from "../load-sqlite.ts";
import { isPlainFile } from "../read-plain-file.ts";
import type { FileTail } from "./tail-file.ts";

/**
 * The conversations that opencode had with a person in this folder since then, the latest first. What its own helpers
 * talk about is in others. Its tables are not promised to anybody: `null` where they are not as expected, or not there
 * yet.
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

/** A conversation that goes on may be long already; what was said before this life is not looked at anyway. */
const furthestBack = 2000;
/** The rest waits for the next look: nobody else is heard while this reads. */
const eventsPerLook = 200;
const longestEvent = 1024 * 1024;

type Row = [seq: number, type: string, data: string | null];

/** Its events as lines of JSON, as if they stood in a file. Of one that is too long nothing is said. */
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
 * Opened anew for each look, and only to read: it is never in the way of the program that writes. Where that has closed
 * it, reading would make files beside it and leave them there. What cannot be read now may be readable later.
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
 * SQLite opens what lies beside the file, where a link leads to, as well; one that is a pipe would keep us for ever.
 */
function isReadable(file: string): boolean {
  if (!isPlainFile(file)) return false;
  const at = realpathSync(file);
  return isPlainFile(`${at}-wal`) && isPlainFile(`${at}-shm`);
}
