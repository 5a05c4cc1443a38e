import type { Database } from "better-sqlite3";
import { transact } from "./transact.ts";

/** "Rous", so that `file rouse.db` and we ourselves can tell our database from somebody else's. */
export const applicationId = 0x526f7573;

/**
 * Every step this version knows, oldest first; the number of steps taken is the database's `user_version`. A step that has been
 * released is never edited: write a new one.
 *
 * Signals have no index by agent on purpose. Beats of many agents arrive mixed, so each would dirty an index page of its own:
 * measured with 10,000 agents, 30 µs and 4 kB of log per beat instead of 8 µs and 0.3 kB. Instead each signal names the one
 * before it of the same agent (`before`, 0 for none) and `chains` keeps, now and then, where each agent's chain begins.
 */
export const migrations: readonly string[] = [
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
];

/** Takes the steps the database has not taken yet, each whole or not at all. */
export function migrate(db: Database): void {
  for (let step = Number(db.pragma("user_version", { simple: true })); step < migrations.length; step++) {
    transact(db, () => {
      db.exec(migrations[step] ?? "");
      db.pragma(`user_version = ${step + 1}`);
    });
  }
}
