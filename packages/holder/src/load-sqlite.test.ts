import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DatabaseSync, readOnce, readPragma, sqliteCodeOf } from "./load-sqlite.ts";

let folder: string;
let db: DatabaseSync;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-sqlite-"));
  db = new DatabaseSync(join(folder, "a.db"));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA user_version = 7; CREATE TABLE notes (no INTEGER, text TEXT)");
});
afterEach(() => {
  if (db.isOpen) db.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("what is read once", () => {
  it("comes in order and no more of it than was asked for", () => {
    for (const no of [3, 1, 4, 2]) db.exec(`INSERT INTO notes VALUES (${no}, 'note ${no}')`);
    const query = "SELECT text, no FROM notes WHERE no > ? ORDER BY no DESC LIMIT ?";
    expect(readOnce(db, "no, text", query, 1, 2)).toEqual([
      [4, "note 4"],
      [3, "note 3"],
    ]);
    expect(readOnce(db, "no", query, 9, 2)).toEqual([]);
  });

  it("may be asked with and consist of any characters and numbers", () => {
    db.exec("INSERT INTO notes VALUES (9223372036854775807, 'it''s ?' || char(0) || ' née'), (1, NULL)");
    expect(readOnce(db, "no, text", "SELECT * FROM notes WHERE text LIKE ? || '%'", "it's ?")).toEqual([
      [2 ** 63, "it's ?\0 née"],
    ]);
    expect(readOnce(db, "text", "SELECT * FROM notes WHERE no = ?", 1)).toEqual([[null]]);
    expect(readOnce(db, "no", "SELECT * FROM notes WHERE text = ?", "'; DROP TABLE notes; --")).toEqual([]);
    expect(readPragma(db, "user_version")).toBe(7);
  });

  it("leaves a database that is closed at once, with nothing beside it", () => {
    readOnce(db, "no", "SELECT no FROM notes");
    expect(readdirSync(folder)).toEqual(["a.db", "a.db-shm", "a.db-wal"]);
    db.close();
    expect(readdirSync(folder)).toEqual(["a.db"]);
  });
});

describe("what SQLite refuses", () => {
  const refusal = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return sqliteCodeOf(error);
    }
    return expect.fail("nothing was refused");
  };

  it("is named as SQLite names it", () => {
    expect(refusal(() => new DatabaseSync(join(folder, "missing.db"), { readOnly: true }))).toBe("SQLITE_CANTOPEN");
    expect(refusal(() => db.exec("SELEC"))).toBe("SQLITE_ERROR");
    expect(refusal(() => readOnce(db, "x", "SELECT x FROM notes"))).toBe("SQLITE_ERROR");
    writeFileSync(join(folder, "text"), "no database at all ".repeat(99));
    const text = new DatabaseSync(join(folder, "text"));
    expect(refusal(() => text.exec("SELECT * FROM sqlite_schema"))).toBe("SQLITE_NOTADB");
    text.close();
    db.exec("BEGIN IMMEDIATE");
    const second = new DatabaseSync(join(folder, "a.db"), { timeout: 0 });
    expect(refusal(() => second.exec("BEGIN IMMEDIATE"))).toBe("SQLITE_BUSY");
    second.close();
  });

  it.each([
    [13, "SQLITE_FULL"],
    [778, "SQLITE_IOERR_WRITE"],
    [1546, "SQLITE_IOERR_TRUNCATE"],
    [4874, "SQLITE_IOERR_SHMSIZE"],
    [261, "SQLITE_BUSY_1"],
  ])("is named by its number: %d", (errcode, name) => {
    expect(sqliteCodeOf(Object.assign(new Error(), { errcode }))).toBe(name);
  });

  it("is not what something else refused", () => {
    expect(sqliteCodeOf(Object.assign(new Error(), { code: "ENOENT" }))).toBe(null);
    expect(refusal(() => db.prepare("SELECT ?").get(undefined))).toBe(null);
  });
});
