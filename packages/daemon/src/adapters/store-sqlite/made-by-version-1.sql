-- What Rouse 0.1.0 (schema 1) left behind: sqlite3 rouse.db .dump, and the two numbers a dump leaves out.
PRAGMA application_id = 1383036275;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE agents (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, through INTEGER NOT NULL, record TEXT NOT NULL);
INSERT INTO agents VALUES(1,'worker-1',1,'{"agentId":"worker-1"}');
CREATE TABLE signals (
     id INTEGER PRIMARY KEY, agent_no INTEGER NOT NULL, before INTEGER NOT NULL,
     at REAL NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
INSERT INTO signals VALUES(1,1,0,10.0,1770292800000.0,'heartbeat','{"agentId":"worker-1"}');
INSERT INTO signals VALUES(2,1,1,20.0,1770292805000.0,'heartbeat','{"agentId":"worker-1"}');
CREATE TABLE chains (only INTEGER PRIMARY KEY CHECK (only = 1), through INTEGER NOT NULL, newest BLOB NOT NULL);
CREATE TABLE beat_hours (
     agent_no INTEGER NOT NULL, hour INTEGER NOT NULL, beats INTEGER NOT NULL,
     token_count INTEGER, error_count INTEGER, tool_call_count INTEGER,
     PRIMARY KEY (agent_no, hour)) WITHOUT ROWID;
CREATE TABLE events (
     id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, agent_id TEXT, type TEXT NOT NULL, payload TEXT NOT NULL);
INSERT INTO events VALUES(1,1770292800000.0,NULL,'MONITOR_FROZEN','{"actor":"ada","reason":"maintenance"}');
CREATE TABLE actions (key TEXT PRIMARY KEY, agent_id TEXT, created_at REAL NOT NULL, body TEXT NOT NULL);
INSERT INTO actions VALUES('worker-1/stop/1','worker-1',1770292800000.0,'{}');
CREATE TABLE audit (
     id INTEGER PRIMARY KEY, time REAL NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, reason TEXT NOT NULL,
     UNIQUE (time, actor, action, reason));
INSERT INTO audit VALUES(1,1770292800000.0,'ada','freeze','maintenance');
INSERT INTO audit VALUES(2,1770292860000.0,'ada','thaw','maintenance');
INSERT INTO audit VALUES(3,1770292861000.5,'grace','stop worker-1','it''s in the way – née ✓');
INSERT INTO audit VALUES(4,1770292890000.0,'grace','restart worker-1','');
CREATE TABLE marks (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO marks VALUES('epoch','3');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('events',1);
CREATE INDEX beat_hours_by_hour ON beat_hours (hour);
CREATE INDEX events_by_agent ON events (agent_id, id);
CREATE INDEX events_by_time ON events (time);
COMMIT;
