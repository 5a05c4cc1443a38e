import module from "node:module"; // not its createRequire alone: our bundles begin with an import of that name
import { Fault } from "@rouse/contract";

/** The part of `DatabaseSync` that we use of two drivers: the one inside Node, and a package for older ones. */
export interface DatabaseSync {
  readonly isOpen: boolean;
  /** Throws when the database is closed. */
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare<P extends unknown[] = unknown[], R = unknown>(sql: string): Statement<P, R>;
  function(name: string, answer: (text: string) => null): void;
  /** With the package it stays open until its statements are garbage-collected or their thread ends: see `readOnce`. */
  close(): void;
}

/**
 * Three things are unexpected. `undefined` cannot be bound. An integer beyond 2^53 throws when it is read. A text is
 * cut at a NUL: Node 22 reads no further, and the package does not even write what follows. JSON escapes NUL, ids have
 * none, and `read-kept.ts` takes care of audit lines.
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

/** The driver is loaded with this module, so code that rarely needs a database imports this module when it does. */
export const { DatabaseSync } = loadDriver();

/** Rows as arrays: with names for the columns, reading takes twice as long. */
export function prepareArrays<P extends unknown[], R extends unknown[]>(db: DatabaseSync, sql: string) {
  const statement = db.prepare<P, R>(sql);
  statement.setReturnArrays(true);
  return statement;
}

/**
 * The rows of a query, each as an array of `columns`, without a statement that would keep the database open after
 * `close`. The values stand for the question marks in the query. Rows travel as JSON, so that a NUL or an integer
 * beyond 2^53 does no harm.
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
  // Not a subquery: SQLite would merge it with the outer one and call `tell` before rows are sorted and limited.
  db.exec(`WITH found AS MATERIALIZED (${sql}) SELECT tell(json_array(${columns})) FROM found`);
  return rows;
}

const quote = (value: string | number): string =>
  typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;

export const readPragma = (db: DatabaseSync, name: string): unknown =>
  readOnce<[unknown]>(db, name, `SELECT ${name} FROM pragma_${name}`)[0]?.[0];

/** SQLite's own name of an error, such as SQLITE_BUSY or SQLITE_IOERR_WRITE; `null` for errors of others. */
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

/** Rows as arrays, a timeout for locks and `isTransaction` came with Node 22.16: an older one counts as without. */
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

/**
 * Node 22 warns on stderr that its SQLite is experimental. People who run Rouse did not choose it, and we test with it.
 */
function withoutWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
