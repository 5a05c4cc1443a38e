import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, readPragma } from "@rouse/holder/load-sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { auditHead, keepAuditTrail, readPlace, whereTrailEnds } from "../../audit/audit-trail.ts";
import { verifyAudit } from "../../audit/verify-audit.ts";
import { auditHeadMark, emptyCommit, type Store } from "../../ports/store.ts";
import { type BundledStore, bundleStore } from "./bundle-for-tests.ts";
import { migrate, migrations } from "./migrations.ts";
import { openSqliteStore } from "./open-sqlite-store.ts";

const madeByVersion1 = readFileSync(new URL("./made-by-version-1.sql", import.meta.url), "utf8");
const publicKey = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }) as string;

let bundled: BundledStore;
let folder: string;
beforeAll(async () => {
  bundled = await bundleStore();
});
afterAll(() => bundled.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-migrations-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = () => openSqliteStore({ folder, workerFile: bundled.workerFile });

/** A database as version 1 left it, with whatever else is to be in it. */
function leaveBehind(more = ""): void {
  const db = new DatabaseSync(join(folder, "rouse.db"));
  db.exec(madeByVersion1);
  db.exec(more);
  db.close();
}

async function verify(store: Store) {
  const head = readPlace((await store.resume()).marks[auditHeadMark]);
  return verifyAudit(await store.readAudit({ limit: 99 }), publicKey, { head, store: null, removed: null, told: null });
}

describe("a database that version 4 of the schema left behind", () => {
  it("tells of its holds in the words of today, and leaves every other event as it is", async () => {
    const db = new DatabaseSync(join(folder, "rouse.db"));
    migrate(db, migrations.slice(0, 4));
    for (const type of ["HOLD_STARTED", "HOLD_ENDED", "MONITOR_GAP"])
      db.prepare("INSERT INTO events (time, type, payload) VALUES (0, ?, '{}')").run(type);
    const payload = { agentId: "a", findings: [{ kind: "missed-beats", held: "amnesty" }, { kind: "no-progress" }] };
    db.prepare("INSERT INTO events (time, type, payload) VALUES (0, 'HEALTH_STATE_CHANGED', ?)").run(
      JSON.stringify(payload),
    );
    db.close();
    const store = await open();
    const events = await store.readEvents({ after: 0, limit: 9 });
    expect(events.map(({ type }) => type)).toEqual([
      "VERDICTS_HELD_BACK",
      "VERDICTS_RESUMED",
      "MONITOR_GAP",
      "HEALTH_STATE_CHANGED",
    ]);
    const findings = [{ kind: "missed-beats", restrainedBy: "amnesty" }, { kind: "no-progress" }];
    expect(events.at(-1)?.payload).toEqual({ agentId: "a", findings });
    await store.close();
  });
});

describe("a database that version 2 of the schema left behind", () => {
  it("keeps its tasks, whom it trusted with how many, and what was spent of the kill budget", async () => {
    const db = new DatabaseSync(join(folder, "rouse.db"));
    migrate(db, migrations.slice(0, 2));
    db.exec(
      `INSERT INTO tasks (id, over_at, record) VALUES ('t-1', NULL, '{"taskId":"t-1"}'), ('t-2', 1770292800000.5, '{}');
       INSERT INTO marks (key, value) VALUES ('assignments/worker-1', '{"agentId":"worker-1"}'), ('assignments/*', '{}'),
         ('kills', '[{"at":1}]'), ('epoch', '3'), ('assignment', 'no standing'), ('frozen', '{}');
       INSERT INTO checkpoints VALUES ('c-1', 't-2', 1, 0, '{}', '{}', NULL);`,
    );
    db.close();
    const store = await open();
    const { machines, marks } = await store.resume();
    expect(machines).toEqual([
      { machine: "kill-budget", id: "fleet", record: '[{"at":1}]', overAt: null },
      { machine: "task", id: "t-1", record: '{"taskId":"t-1"}', overAt: null },
      { machine: "task", id: "t-2", record: "{}", overAt: 1770292800000.5 },
      { machine: "trust", id: "*", record: "{}", overAt: null },
      { machine: "trust", id: "worker-1", record: '{"agentId":"worker-1"}', overAt: null },
    ]);
    expect(marks).toEqual({ assignment: "no standing", frozen: "{}" });
    expect(await store.takeOver()).toBe(4);
    while (await store.tidy({ now: 1770292800001, beats: 0, history: 0 }));
    expect((await store.resume()).machines.map(({ id }) => id)).toEqual(["fleet", "t-1", "*", "worker-1"]);
    expect(await store.readCheckpoints("t-2", 9)).toEqual([]);
    await store.close();
  });
});

describe("a database that version 1 of the schema left behind", () => {
  it("keeps its audit, as a chain from here on", async () => {
    leaveBehind();
    const store = await open();
    const lines = await store.readAudit({ limit: 99 });
    expect(lines.map(({ number, time, actor, action, subject }) => [number, time, actor, action, subject])).toEqual([
      [1, "2026-02-05T12:00:00.000Z", "ada", "freeze", null],
      [2, "2026-02-05T12:01:00.000Z", "ada", "thaw", null],
      [3, "2026-02-05T12:01:01.000Z", "grace", "stop", "worker-1"],
      [4, "2026-02-05T12:01:30.000Z", "grace", "restart", "worker-1"],
    ]);
    expect(lines.map(({ reason }) => reason)).toEqual(["maintenance", "maintenance", "it's in the way – née ✓", ""]);
    for (const line of lines) expect(line).toMatchObject({ evidence: {}, policy: null, signature: null });
    expect(await verify(store)).toMatchObject({ sound: true, entries: 4, signatures: 0, beginsAt: null, sealed: null });
    await store.close();
  });

  it("goes on with the next line where the old ones end", async () => {
    leaveBehind();
    const store = await open();
    const resumption = await store.resume();
    const trail = keepAuditTrail({ last: whereTrailEnds(resumption), store: "s", isSealed: true, sign: () => "" });
    const fact = { time: 0, actor: "ada", action: "freeze", subject: null, reason: "", evidence: {}, policy: null };
    const line = trail.append(fact);
    await store.commit({
      ...emptyCommit,
      epoch: await store.takeOver(),
      audit: [line],
      marks: { [auditHeadMark]: auditHead(line) },
    });
    expect(line.number).toBe(5);
    expect(await verify(store)).toMatchObject({ sound: true, entries: 5 });
    await store.close();
  });

  it("loses nothing else, and is migrated once", async () => {
    leaveBehind();
    for (let start = 1; start <= 2; start++) {
      const store = await open();
      expect(await store.resume()).toMatchObject({
        records: [{ agentNo: 1, agentId: "worker-1", through: 1 }],
        signals: [{ id: 2, agentNo: 1 }],
        actions: [{ key: "worker-1/stop/1" }],
        machines: [],
        lastAudit: { number: 4 },
        marks: {},
        lastSignalId: 2,
        lastEventId: 1,
      });
      expect(await store.readEvents({ limit: 9 })).toMatchObject([{ id: 1, type: "MONITOR_FROZEN" }]);
      expect(await store.takeOver()).toBe(3 + start);
      await store.close();
    }
    const db = new DatabaseSync(join(folder, "rouse.db"), { readOnly: true });
    expect(readPragma(db, "user_version")).toBe(migrations.length);
    expect(readPragma(db, "integrity_check")).toBe("ok");
    expect(db.prepare("SELECT name FROM sqlite_schema WHERE name LIKE '%old%'").all()).toEqual([]);
    db.close();
  });

  it("has no trail when nobody had done anything yet", async () => {
    leaveBehind("DELETE FROM audit");
    const store = await open();
    expect(await store.resume()).toMatchObject({ lastAudit: null, marks: {} });
    expect(await verify(store)).toMatchObject({ sound: true, entries: 0 });
    await store.close();
  });

  it("is left as it was when a step fails half-way", async () => {
    leaveBehind("INSERT INTO audit (time, actor, action, reason) VALUES (9e99, 'x', 'no such time', '')");
    await expect(open()).rejects.toThrow();
    const db = new DatabaseSync(join(folder, "rouse.db"), { readOnly: true });
    expect(readPragma(db, "user_version")).toBe(1);
    expect(db.prepare("SELECT * FROM audit").all()).toHaveLength(5);
    expect(db.prepare("SELECT name FROM sqlite_schema WHERE name = 'tasks'").all()).toEqual([]);
    db.close();
  });
});
