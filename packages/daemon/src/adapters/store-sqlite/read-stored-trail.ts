import { existsSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import Database from "better-sqlite3";
import { auditHeadMark, auditRemovedMark, auditStoreMark, type StoredTrail } from "../../ports/store.ts";
import { nameOpenTrouble } from "./name-trouble.ts";
import { unpackLine } from "./pack.ts";
import { prepareReadingKept } from "./read-kept.ts";

/** Reads the audit trail of a data folder while nobody has it open, or while somebody does. Writes nothing. */
export function readStoredTrail(folder: string): StoredTrail {
  const path = join(folder, "rouse.db");
  if (!existsSync(path)) throw new Fault("daemon-unreachable", `no Rouse is running, and there is no ${path} to read`);
  try {
    const db = new Database(path, { readonly: true, timeout: 2000 });
    try {
      return readFrom(db, path);
    } finally {
      db.close();
    }
  } catch (error) {
    throw nameOpenTrouble(error, path);
  }
}

/** In one transaction: a Rouse that is still there may write meanwhile. */
function readFrom(db: Database.Database, path: string): StoredTrail {
  if (Number(db.pragma("user_version", { simple: true })) < 2)
    throw new Fault(
      "database-damaged",
      `${path} is from a version that kept no audit trail; \`rouse up\` takes it over`,
    );
  return db.transaction(() => {
    const { readAudit, readMark } = prepareReadingKept(db);
    return {
      lines: readAudit({ limit: Number.MAX_SAFE_INTEGER }).map(unpackLine),
      marks: {
        head: readMark(auditHeadMark),
        store: readMark(auditStoreMark),
        removed: readMark(auditRemovedMark),
      },
    };
  })();
}
