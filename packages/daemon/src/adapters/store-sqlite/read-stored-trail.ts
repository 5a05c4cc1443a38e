import { existsSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { DatabaseSync, readPragma } from "@rouse/holder/load-sqlite";
import { auditHeadMark, auditRemovedMark, auditStoreMark, type StoredTrail } from "../../ports/store.ts";
import { nameOpenFault } from "./name-fault.ts";
import { unpackLine } from "./pack.ts";
import { prepareReadingKept } from "./read-kept.ts";

/** Reads the audit trail of a data folder, whether a daemon has it open or not. Writes nothing. */
export function readStoredTrail(folder: string): StoredTrail {
  const path = join(folder, "rouse.db");
  if (!existsSync(path)) throw new Fault("daemon-unreachable", `no Rouse is running, and there is no ${path} to read`);
  try {
    const db = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
    try {
      return readFrom(db, path);
    } finally {
      db.close();
    }
  } catch (error) {
    throw nameOpenFault(error, path);
  }
}

/** In one transaction, which ends with the connection: a running daemon may write meanwhile. */
function readFrom(db: DatabaseSync, path: string): StoredTrail {
  if (Number(readPragma(db, "user_version")) < 2)
    throw new Fault(
      "database-damaged",
      `${path} is from a version that kept no audit trail; \`rouse up\` takes it over`,
    );
  db.exec("BEGIN");
  const { readAudit, readMark } = prepareReadingKept(db);
  return {
    lines: readAudit({ limit: Number.MAX_SAFE_INTEGER }).map(unpackLine),
    marks: {
      head: readMark(auditHeadMark),
      store: readMark(auditStoreMark),
      removed: readMark(auditRemovedMark),
    },
  };
}
