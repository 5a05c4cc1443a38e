import { Fault } from "@rouse/contract";
import { sqliteCodeOf } from "@rouse/holder/load-sqlite";

/** What a failed system call or a code of SQLite means when Rouse starts. */
export function nameOpenFault(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (isDamage(code)) return new Fault("database-damaged", damagedMessage(path), { cause: error });
  if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code) || /^E[A-Z]+$/.test(code)) {
    return new Fault("data-folder-unusable", `cannot keep data in ${path}: ${textOf(error)}`, { cause: error });
  }
  return nameFault(error, path);
}

/** What a code of SQLite means while Rouse runs. Any other error is a bug and stays what it is. */
export function nameFault(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (isDamage(code)) return new Fault("database-damaged", damagedWhileRunning(path), { cause: error });
  if (/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|BUSY|LOCKED|PROTOCOL|NOMEM)/.test(code)) {
    const hint = /^SQLITE_IOERR_(SHMSIZE|WRITE|TRUNCATE)$/.test(code) ? "; is the disk full?" : "";
    const message = `cannot save to ${path} for now: ${textOf(error)} (${code})${hint}`;
    return new Fault("store-unavailable", message, { retryable: true, cause: error });
  }
  return error;
}

export const newerMessage = (path: string, found: number, known: number): string =>
  `${path} was written by a newer Rouse (its schema is version ${found}, this one knows up to ${known}). ` +
  "Install a newer Rouse, or point ROUSE_HOME at another folder.";

export const foreignMessage = (path: string): string =>
  `${path} is a database, but not one of Rouse's. It was left untouched: move it aside and start again, or point ROUSE_HOME at another folder.`;

const damagedMessage = (path: string): string =>
  `${path} is damaged or not a database. It was left untouched: move it aside (with its -wal file, if there is one) and start again, or restore a copy.`;

const damagedWhileRunning = (path: string): string =>
  `${path} is damaged: nothing can be saved to it any more. Stop Rouse, move it aside (with its -wal file) and start again, or restore a copy.`;

const isDamage = (code: string): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(code);

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function codeOf(error: unknown): string {
  return sqliteCodeOf(error) ?? (error instanceof Error && "code" in error ? String(error.code) : "");
}
