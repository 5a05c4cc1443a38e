import { createHash } from "node:crypto";
import { canonicalJson, toIso } from "@rouse/contract";
import { type DatabaseSync, readPragma } from "@rouse/holder/load-sqlite";
import { transact } from "./transact.ts";

/** "Rous" in ASCII, so that `file rouse.db` and we can tell our database from another. */
export const applicationId = 0x526f7573;

type Step = string | ((db: DatabaseSync) => void);

/**
 * Every step this version knows, oldest first; the number of steps taken is the database's `user_version`. A step that
 * has been released is never edited: write a new one.
 *
 * Signals have no index by agent on purpose. Beats of many agents arrive mixed, so each would dirty an index page of
 * its own: measured with 10,000 agents, 30 µs and 4 kB of log per beat instead of 8 µs and 0.3 kB. Instead each signal
 * names the one before it of the same agent (`before`, 0 for none) and `chains` keeps, now and then, where each agent's
 * chain begins.
 */
export const migrations: readonly Step[] = [
  `PRAGMA application_id = ${applicationId};

   CREATE TABLE agents (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, through INTEGER NOT NULL, record TEXT NOT NULL);

   CREATE TABLE signals (
     id INTEGER PRIMARY KEY, agent_no INTEGER NOT NULL, before INTEGER NOT NULL,
     at REAL NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);

   CREATE TABLE chains (only INTEGER PRIMARY KEY CHECK (only = 1), through INTEGER NOT NULL, newest BLOB NOT NULL);

   CREATE TABLE beat_hours (
     agent_no INTEGER NOT NULL, hour INTEGER NOT NULL, beats INTEGER NOT NULL,
     token_count INTEGER, error_count INTEGER, tool_call_count INTEGER,
     PRIMARY KEY (agent_no, hour)) WITHOUT ROWID;
   CREATE INDEX beat_hours_by_hour ON beat_hours (hour);

   CREATE TABLE events (
     id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, agent_id TEXT, type TEXT NOT NULL, payload TEXT NOT NULL);
   CREATE INDEX events_by_agent ON events (agent_id, id);
   CREATE INDEX events_by_time ON events (time);

   CREATE TABLE actions (key TEXT PRIMARY KEY, agent_id TEXT, created_at REAL NOT NULL, body TEXT NOT NULL);

   CREATE TABLE audit (
     id INTEGER PRIMARY KEY, time REAL NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, reason TEXT NOT NULL,
     UNIQUE (time, actor, action, reason));

   CREATE TABLE marks (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;`,
  addTasksAndChainAudit,
  `CREATE TABLE machines (
     machine TEXT NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL, over_at REAL, PRIMARY KEY (machine, id));
   CREATE INDEX machines_over ON machines (over_at) WHERE over_at IS NOT NULL;

   INSERT INTO machines (machine, id, record, over_at) SELECT 'task', id, record, over_at FROM tasks;
   DROP TABLE tasks;

   INSERT INTO machines (machine, id, record)
     SELECT 'trust', substr(key, length('assignments/') + 1), value FROM marks WHERE key GLOB 'assignments/*';
   INSERT INTO machines (machine, id, record) SELECT 'kill-budget', 'fleet', value FROM marks WHERE key = 'kills';
   DELETE FROM marks WHERE key GLOB 'assignments/*' OR key = 'kills';`,
  `CREATE TABLE shard (only INTEGER PRIMARY KEY CHECK (only = 1), epoch INTEGER NOT NULL);
   INSERT INTO shard (only, epoch)
     SELECT 1, coalesce((SELECT CAST(value AS INTEGER) FROM marks WHERE key = 'epoch'), 0);
   DELETE FROM marks WHERE key = 'epoch';`,
  sayInWordsOfToday,
];

/** Events in which verdicts were held back had other names, and so had what kept a finding from being acted upon. */
function sayInWordsOfToday(db: DatabaseSync): void {
  db.exec(
    `UPDATE events SET type = CASE type WHEN 'HOLD_STARTED' THEN 'VERDICTS_HELD_BACK' ELSE 'VERDICTS_RESUMED' END
       WHERE type IN ('HOLD_STARTED', 'HOLD_ENDED');`,
  );
  const change = db.prepare<[string, number]>("UPDATE events SET payload = ? WHERE id = ?");
  const changed = db.prepare<[], { id: number; payload: string }>(
    `SELECT id, payload FROM events WHERE type = 'HEALTH_STATE_CHANGED' AND payload LIKE '%"held":%'`,
  );
  for (const { id, payload } of changed.all()) change.run(renameHeld(payload), id);
}

function renameHeld(payload: string): string {
  const said = JSON.parse(payload) as { findings?: ({ held?: string } & object)[] };
  const findings = said.findings?.map(({ held, ...finding }) =>
    held === undefined ? finding : { ...finding, restrainedBy: held },
  );
  return JSON.stringify({ ...said, ...(findings === undefined ? {} : { findings }) });
}

/** `state_file` is the hash of a state in a file. Rows of checkpoints stay small: larger states are never in them. */
function addTasksAndChainAudit(db: DatabaseSync): void {
  db.exec(
    `CREATE TABLE tasks (id TEXT PRIMARY KEY, over_at REAL, record TEXT NOT NULL);
     CREATE INDEX tasks_over ON tasks (over_at) WHERE over_at IS NOT NULL;

     CREATE TABLE checkpoints (
       id TEXT PRIMARY KEY, task_id TEXT NOT NULL, number INTEGER NOT NULL, time REAL NOT NULL,
       head TEXT NOT NULL, state TEXT, state_file TEXT);
     CREATE INDEX checkpoints_by_task ON checkpoints (task_id, number);
     CREATE INDEX checkpoints_by_file ON checkpoints (state_file) WHERE state_file IS NOT NULL;

     ALTER TABLE audit RENAME TO old_audit;
     CREATE TABLE audit (
       number INTEGER PRIMARY KEY, time TEXT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, subject TEXT,
       reason TEXT NOT NULL, evidence TEXT NOT NULL, policy TEXT, before TEXT NOT NULL, hash TEXT NOT NULL, signature TEXT);
     CREATE INDEX audit_by_subject ON audit (subject, number) WHERE subject IS NOT NULL;`,
  );
  chainOldAudit(db);
  db.exec("DROP TABLE old_audit");
}

/** Takes the steps the database has not taken yet, each whole or not at all. */
export function migrate(db: DatabaseSync, steps = migrations): void {
  for (let step = Number(readPragma(db, "user_version")); step < steps.length; step++) {
    transact(db, () => {
      take(db, steps[step] ?? "");
      db.exec(`PRAGMA user_version = ${step + 1}`);
    });
  }
}

function take(db: DatabaseSync, step: Step): void {
  if (typeof step === "string") db.exec(step);
  else step(db);
}

interface OldLine {
  readonly time: number;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
}

/**
 * Makes a chain of the audit of schema 1, which had neither numbers nor hashes. It is part of a migration step, so it
 * stays as it is even if the trail's format changes. Lines that were not vouched for before are from here on.
 */
function chainOldAudit(db: DatabaseSync): void {
  const add = db.prepare(
    `INSERT INTO audit (number, time, actor, action, subject, reason, evidence, policy, before, hash, signature)
     VALUES (?, ?, ?, ?, ?, ?, '{}', NULL, ?, ?, NULL)`,
  );
  let number = 0;
  let before = "0".repeat(64);
  for (const old of db.prepare<[], OldLine>("SELECT time, actor, action, reason FROM old_audit ORDER BY id").all()) {
    number++;
    const time = toIso(old.time);
    const { actor, reason } = old;
    const { action, subject } = splitAction(old.action);
    const line = { number, time, actor, action, subject, reason, evidence: {}, policy: null, before };
    const hash = createHash("sha256").update(canonicalJson(line)).digest("hex");
    add.run(number, time, actor, action, subject, reason, before, hash);
    before = hash;
  }
  if (number === 0) return;
  db.prepare("INSERT INTO marks (key, value) VALUES ('audit-head', ?)").run(JSON.stringify({ number, hash: before }));
}

/** "stop worker-1" was about worker-1; "freeze" was about nobody. */
function splitAction(text: string): { action: string; subject: string | null } {
  const [action = "", ...subject] = text.split(" ");
  return { action, subject: subject.length === 0 ? null : subject.join(" ") };
}
