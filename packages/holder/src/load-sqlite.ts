import module from "node:module"; // not its createRequire alone: our bundles begin with an import of that name
import { Fault } from "@rouse/contract";

/** What we use of `DatabaseSync`, which two drivers have: the one inside Node, and a package for a Node without it. */
export interface DatabaseSync {
  readonly isOpen: boolean;
  /** Throws when the database is closed. */
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare<P extends unknown[] = unknown[], R = unknown>(sql: string): Statement<P, R>;
  function(name: string, answer: (text: string) => null): void;
  /** With the package it stays open, files and locks and all, until its statements are collected as garbage or their thread ends: see `readOnce`. */
  close(): void;
}

/**
 * Three things are not as one might think. `undefined` cannot be bound. An integer beyond 2^53 throws when it is read. A text that contains a NUL ends there:
 * Node 22 reads no further, and the package does not even write what follows. JSON escapes it, ids are free of it, and of audit lines `read-kept.ts` takes care.
 */
export interface Statement<P extends unknown[], R> {
  run(...values: P): { readonly changes: number };
  get(...values: P): R | undefined;
  all(...values: P): R[];
  iterate(...values: P): IterableIterator<R>;
  /** Rows as arrays instead of objects. */
  setReturnArrays(areArrays: boolean): void;
}

export interface OpenOptions {
  /** Such a database has to be there already. */
  readonly readOnly?: boolean;
  /** How long to wait for a lock, in milliseconds. */
  readonly timeout?: number;
}

interface Driver {
  readonly DatabaseSync: new (path: string, options?: OpenOptions) => DatabaseSync;
  readonly StatementSync: { readonly prototype: object };
}

/** Loaded with this module, so whoever needs a database only now and then imports this module only then. */
export const { DatabaseSync } = loadDriver();

/** Rows as arrays: with names for the columns, reading takes twice as long. */
export function prepareArrays<P extends unknown[], R extends unknown[]>(db: DatabaseSync, sql: string) {
  const statement = db.prepare<P, R>(sql);
  statement.setReturnArrays(true);
  return statement;
}

/**
 * The rows of a query, each as an array of these columns, without a statement that would keep the database open after `close`. The values stand for the
 * question marks in it. Rows travel as JSON, so that neither a NUL nor an integer beyond 2^53 is in the way.
 */
export function readOnce<R extends unknown[]>(
  db: DatabaseSync,
  columns: string,
  query: string,
  ...values: (string | number)[]
): R[] {
  const rows: R[] = [];
  db.function("tell", (row) => {
    rows.push(JSON.parse(row) as R);
    return null;
  });
  let nth = 0;
  const sql = query.replace(/\?/g, () => quote(values[nth++] ?? ""));
  // Not a subquery: merged with the outer one it would tell of rows before they are put in order and counted.
  db.exec(`WITH found AS MATERIALIZED (${sql}) SELECT tell(json_array(${columns})) FROM found`);
  return rows;
}

const quote = (value: string | number): string =>
  typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;

export const readPragma = (db: DatabaseSync, name: string): unknown =>
  readOnce<[unknown]>(db, name, `SELECT ${name} FROM pragma_${name}`)[0]?.[0];

/** SQLite's own name of what went wrong, such as SQLITE_BUSY or SQLITE_IOERR_WRITE; `null` when it was not SQLite that refused. */
export function sqliteCodeOf(error: unknown): string | null {
  if (!(error instanceof Error && "errcode" in error && typeof error.errcode === "number")) return null;
  // The low byte is the kind of fault, the rest says more about it.
  const kind = `SQLITE_${kinds[error.errcode & 0xff] ?? "ERROR"}`;
  const more = error.errcode >> 8;
  if (more === 0) return kind;
  return `${kind}_${(kind === "SQLITE_IOERR" && ioFaults[more]) || more}`;
}

/** In the order of their numbers, from 0. */
const kinds =
  "OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB".split(
    " ",
  );
const ioFaults =
  "- READ SHORT_READ WRITE FSYNC DIR_FSYNC TRUNCATE FSTAT UNLOCK RDLOCK DELETE BLOCKED NOMEM ACCESS CHECKRESERVEDLOCK LOCK CLOSE DIR_CLOSE SHMOPEN SHMSIZE SHMLOCK SHMMAP SEEK".split(
    " ",
  );

/** Node 22 has rows as arrays, a time to wait for locks and `isTransaction` from 22.16 on, so one without them counts as one without SQLite. */
function loadDriver(): Driver {
  const inside = withoutWarning(() => process.getBuiltinModule("node:sqlite") as Driver | undefined);
  if (inside !== undefined && "setReturnArrays" in inside.StatementSync.prototype) return inside;
  const require = module.createRequire(import.meta.url);
  try {
    return require("@photostructure/sqlite") as Driver;
  } catch (cause) {
    throw new Fault(
      "store-unavailable",
      `Node ${process.versions.node} brings no SQLite that Rouse can use, and the package @photostructure/sqlite cannot be loaded. ` +
        "Use Node 22.16 or newer, or install again without leaving out optional packages.",
      { cause },
    );
  }
}

/** Node 22 says on stderr, to whoever runs Rouse, that its SQLite is experimental: they did not choose it, and we test with it. */
function withoutWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
