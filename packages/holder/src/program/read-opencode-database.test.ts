import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DatabaseSync } from "../load-sqlite.ts";
import type { Running } from "./find-running.ts";
import { findSessionFile } from "./find-session-file.ts";
import * as database from "./read-opencode-database.ts";

let home: string;
let file: string;
let writer: DatabaseSync | null;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "rouse-opencode-")));
  file = join(home, ".local/share/opencode/opencode.db");
  writer = null;
});
afterEach(() => {
  if (writer?.isOpen) writer.close();
  rmSync(home, { recursive: true, force: true });
});

const startedAt = Date.now() - 60_000;
const running = (env: Record<string, string> = {}): Running => ({
  family: "opencode",
  pid: 1,
  startTicks: 1,
  startedAt,
  args: [],
  cwd: home,
  env: { HOME: home, ...env },
});
const find = (program = running()) => findSessionFile(program, null, new Set(), database);

/** The columns that are read, of the tables that opencode 1.18.33 has; open for writing, as the program has it. */
function open(at = file): DatabaseSync {
  mkdirSync(dirname(at), { recursive: true });
  writer = new DatabaseSync(at);
  writer.exec("PRAGMA journal_mode = WAL");
  writer.exec(`
    CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, time_updated integer NOT NULL);
    CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL, seq integer NOT NULL, type text NOT NULL, data text NOT NULL);
    CREATE UNIQUE INDEX event_aggregate_seq_idx ON event (aggregate_id, seq);`);
  return writer;
}

function begin(id: string, { at = startedAt + 1000, folder = home, parent = null as string | null } = {}): void {
  write("session", [id, parent, folder, at]);
  tell(id, 0, "session.created.1", { sessionID: id });
}

const tell = (id: string, seq: number, type: string, data: object | string) =>
  write("event", [`${id}-${seq}`, id, seq, type, typeof data === "string" ? data : JSON.stringify(data)]);

/** Without a statement of its own, which would keep the database open after it is closed. */
const write = (table: string, values: readonly (string | number | null)[]) =>
  writer?.exec(`INSERT INTO ${table} VALUES (${values.map(quote).join(", ")})`);

const quote = (value: string | number | null) =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);

describe("the conversation of opencode", () => {
  it("is the one in its folder that went on last since it runs, and not one of a helper", () => {
    open();
    begin("ses_old", { at: startedAt - 1000 });
    begin("ses_elsewhere", { folder: "/elsewhere", at: startedAt + 5000 });
    begin("ses_helper", { parent: "ses_own", at: startedAt + 5000 });
    expect(find()).toEqual({ kind: "not-found", because: "not found yet" });
    begin("ses_own");
    expect(find()).toEqual({ kind: "found", file, conversation: "ses_own" });
    begin("ses_next", { at: startedAt + 2000 });
    expect(find()).toMatchObject({ conversation: "ses_next" });
  });

  it("is not guessed where another one works in the same folder, unless it was chosen", async () => {
    open();
    begin("ses_own");
    begin("ses_others", { at: startedAt + 2000 });
    const other = spawn(process.execPath, ["-e", "setTimeout(() => {}, 100_000)"], { argv0: "opencode", cwd: home });
    try {
      await vi.waitFor(() => expect(find()).toMatchObject({ because: "others work in the same folder" }));
      const chosen = { ...running(), args: ["--session", "ses_own"] };
      expect(find(chosen)).toEqual({ kind: "found", file, conversation: "ses_own" });
    } finally {
      other.kill("SIGKILL");
    }
  });

  it("is looked for where its environment says", () => {
    const other = join(home, "data/opencode/mine.db");
    open(other);
    begin("ses_own");
    expect(find(running({ XDG_DATA_HOME: join(home, "data"), OPENCODE_DB: "mine.db" }))).toMatchObject({ file: other });
    expect(find(running({ OPENCODE_DB: other }))).toMatchObject({ file: other });
  });

  it("is not known where its database is not as expected", () => {
    expect(find()).toEqual({ kind: "not-found", because: "its database cannot be read" });
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "no database at all, but some text that is longer than the head of one ".repeat(10));
    expect(find()).toMatchObject({ because: "its database cannot be read" });
    writeFileSync(`${file}-wal`, "");
    expect(find()).toMatchObject({ because: "its database cannot be read" });
    for (const each of [file, `${file}-wal`]) rmSync(each);
    open();
    begin("ses_own");
    expect(find()).toMatchObject({ kind: "found" });
    writer?.exec("DROP TABLE event");
    expect(find()).toMatchObject({ because: "its database cannot be read" });
  });
});

describe("a pipe in place of the database of opencode, or of what lies beside it", () => {
  it.each(["", "-wal", "-shm"])("keeps nobody waiting (opencode.db%s)", (suffix) => {
    mkdirSync(dirname(file), { recursive: true });
    for (const each of ["", "-wal", "-shm"]) {
      if (each === suffix) execFileSync("mkfifo", [`${file}${each}`]);
      else writeFileSync(`${file}${each}`, "");
    }
    expect(find()).toEqual({ kind: "not-found", because: "its database cannot be read" });
  });
});

describe("what is told of a conversation of opencode", () => {
  const types = (lines: readonly string[]) => lines.map((line) => (JSON.parse(line) as { type: string }).type);

  it("is each event once, as lines, while the program writes", () => {
    open();
    begin("ses_own");
    const tail = database.tailConversation(file, "ses_own");
    expect(tail.look()).toEqual(['{"type":"session.created.1","data":{"sessionID":"ses_own"}}']);
    begin("ses_other");
    writer?.exec("BEGIN IMMEDIATE");
    tell("ses_own", 1, "message.updated.1", {});
    expect(tail.look()).toEqual([]);
    writer?.exec("COMMIT");
    expect(types(tail.look())).toEqual(["message.updated.1"]);
    expect(tail.look()).toEqual([]);
  });

  it("is what happened lately where it is long, a part at each look, and nothing that is too long", () => {
    open();
    begin("ses_own");
    writer?.exec("BEGIN");
    for (let seq = 1; seq <= 5000; seq++) tell("ses_own", seq, `n.${seq}`, {});
    tell("ses_own", 5001, "long", JSON.stringify({ text: "x".repeat(2 * 1024 * 1024) }));
    tell("ses_own", 5002, "last", {});
    writer?.exec("COMMIT");
    const tail = database.tailConversation(file, "ses_own");
    const looks: string[][] = [];
    do looks.push(types(tail.look()));
    while (looks.at(-1)?.length !== 0 && looks.length < 100);
    expect(Math.max(...looks.map(({ length }) => length))).toBe(200);
    expect(looks.flat()[0]).toBe("n.3002");
    expect(looks.flat().slice(-2)).toEqual(["n.5000", "last"]);
  });

  it("leaves the program's files alone", () => {
    open();
    begin("ses_own");
    database.tailConversation(file, "ses_own").look();
    // What a reader had merged or locked, the writer would notice.
    writer?.exec("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)");
    expect(statSync(`${file}-wal`).size).toBe(0);
    writer?.close();
    database.tailConversation(file, "ses_own").look();
    expect(readdirSync(dirname(file))).toEqual(["opencode.db"]);
  });

  it("is nothing while it cannot be read, and goes on where it was", () => {
    const tail = database.tailConversation(file, "ses_own");
    expect(tail.look()).toEqual([]);
    open();
    begin("ses_own");
    expect(tail.look()).toHaveLength(1);
    writer?.exec("ALTER TABLE event RENAME TO moved");
    expect(tail.look()).toEqual([]);
    writer?.exec("ALTER TABLE moved RENAME TO event");
    tell("ses_own", 1, "message.updated.1", {});
    expect(types(tail.look())).toEqual(["message.updated.1"]);
  });
});
