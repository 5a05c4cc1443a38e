import type { DatabaseSync } from "@rouse/holder/load-sqlite";

/** Runs `work` in one transaction: all of it is kept, or, when it throws, none. */
export function transact<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    // After a full disk or an IO error SQLite may have rolled back by itself.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
