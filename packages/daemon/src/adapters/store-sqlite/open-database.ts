import { chmodSync, closeSync, fsyncSync, openSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { DatabaseSync, readOnce, readPragma, sqliteCodeOf } from "@rouse/holder/load-sqlite";
import { applicationId, migrate, migrations } from "./migrations.ts";
import { foreignMessage, nameOpenFault, newerMessage } from "./name-fault.ts";

export interface OpenDatabase {
  readonly db: DatabaseSync;
  readonly path: string;
  close(): void;
}

export function openDatabase(folder: string, shard: number): OpenDatabase {
  const suffix = shard === 0 ? "" : `-${shard}`;
  const path = join(folder, `rouse${suffix}.db`);
  const lock = lockShard(folder, `lock${suffix}.db`);
  try {
    createPrivately(folder, path);
    refuseWhatIsNotOurs(path);
    const db = connect(path);
    const close = () => {
      db.close();
      lock.close();
    };
    return { db, path, close };
  } catch (error) {
    lock.close();
    throw nameOpenFault(error, path);
  }
}

/**
 * An exclusive transaction on a file of its own that is never ended: the kernel lets go of it when this process dies,
 * however that happens, and no stale lock file is left to explain.
 */
function lockShard(folder: string, file: string): DatabaseSync {
  const path = join(folder, file);
  let lock: DatabaseSync | undefined;
  try {
    createPrivately(folder, path);
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec("PRAGMA journal_mode = MEMORY"); // nothing is ever written to it
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock?.close();
    if (sqliteCodeOf(error)?.startsWith("SQLITE_BUSY")) throw alreadyRunning(folder, error);
    throw nameOpenFault(error, path);
  }
}

const alreadyRunning = (folder: string, cause: unknown): Fault =>
  new Fault(
    "daemon-running",
    `another Rouse is running with the data folder ${folder}. Stop it first, or give this one a folder of its own with ROUSE_HOME.`,
    { cause },
  );

/**
 * SQLite gives its -wal and -shm files the mode of the database. An existing file is never opened here: closing any
 * descriptor of it would drop the locks that this process holds on it.
 */
function createPrivately(folder: string, path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    chmodSync(path, 0o600);
    return;
  }
  const directory = openSync(folder, "r");
  fsyncSync(directory); // otherwise the new file may be gone after a power cut
  closeSync(directory);
}

/** Looks through a read-only connection: a writing one would merge the -wal file on close, and change the file. */
function refuseWhatIsNotOurs(path: string): void {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 250 });
  try {
    const isNew = readOnce(db, "name", "SELECT name FROM sqlite_schema LIMIT 1").length === 0;
    if (!isNew && readPragma(db, "application_id") !== applicationId) {
      throw new Fault("database-damaged", foreignMessage(path));
    }
    const version = Number(readPragma(db, "user_version"));
    if (version > migrations.length) throw new Fault("database-newer", newerMessage(path, version, migrations.length));
  } finally {
    db.close();
  }
}

function connect(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 250 });
  try {
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    // Pages until the log is merged into the database; with more, the commit that has to merge it waits longer.
    db.exec("PRAGMA wal_autocheckpoint = 1000");
    db.exec("PRAGMA cache_size = -16000"); // 16 MB; the drivers would take two
    db.exec("PRAGMA temp_store = MEMORY");
    db.exec("BEGIN IMMEDIATE; ROLLBACK"); // SQLite opens a read-only file without an error; this fails at once
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
