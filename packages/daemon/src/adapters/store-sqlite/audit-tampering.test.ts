import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AuditRecord, days, hours } from "@rouse/contract";
import { DatabaseSync } from "@rouse/holder/load-sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { auditHead, hashOfLine, keepAuditTrail, noHash, readPlace } from "../../audit/audit-trail.ts";
import { sealOf } from "../../audit/seal-trail.ts";
import { verifyAudit } from "../../audit/verify-audit.ts";
import { openSigningKey, type SigningKey } from "../../home/signing-key.ts";
import { auditHeadMark, auditStoreMark, emptyCommit, type Store } from "../../ports/store.ts";
import { openFileAnchor } from "../anchor-file/open-file-anchor.ts";
import { type BundledStore, bundleStore } from "./bundle-for-tests.ts";
import { openSqliteStore } from "./open-sqlite-store.ts";
import { readStoredTrail } from "./read-stored-trail.ts";

const noon = Date.UTC(2026, 1, 5, 12);
const storeId = "store-1";
let bundled: BundledStore;
let folder: string;
let key: SigningKey;
beforeAll(async () => {
  bundled = await bundleStore();
});
afterAll(() => bundled.remove());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-tampering-"));
  key = openSigningKey(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function inStore<T>(use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openSqliteStore({ folder, workerFile: bundled.workerFile });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const anchor = () => openFileAnchor({ path: "seals.jsonl", folder });

/** A day of a monitor: 151 lines, of which 30 and 111 are stops and 95 is a seal; each signed line is anchored, as a running monitor would. */
const writeTrail = () =>
  inStore(async (store) => {
    const trail = keepAuditTrail({ last: null, store: storeId, isSealed: false, sign: key.sign });
    const audit: AuditRecord[] = trail.begin(noon, null);
    for (let n = 2; n <= 150; n++) {
      const action = n === 30 || n === 110 ? "terminate" : "nudge-sent";
      const evidence = { attempt: n, silent: 0.1 + n };
      const reason = "half of a 😀 and \ud83d";
      const line = { time: noon + n, actor: "rouse", action, subject: "worker-1", reason, evidence, policy: "default" };
      audit.push(trail.append(line), ...trail.sealWhenDue(line.time));
    }
    const marks = { [auditHeadMark]: auditHead(audit.at(-1) as AuditRecord), [auditStoreMark]: storeId };
    await store.commit({ ...emptyCommit, audit, marks });
    for (const line of audit) {
      const seal = sealOf(storeId, line);
      if (seal !== null) await anchor().place(seal, AbortSignal.timeout(10_000));
    }
  });

async function verdict(withAnchor = false) {
  const { lines, marks } = readStoredTrail(folder);
  const ends = { head: readPlace(marks.head), store: marks.store, removed: readPlace(marks.removed), told: null };
  const reading = { anchor: "file:seals.jsonl", problem: null, isBeside: true };
  return verifyAudit(lines, key.publicKey, ends, withAnchor ? [{ ...reading, seals: await anchor().read() }] : []);
}

function tamper(change: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(join(folder, "rouse.db"));
  change(db);
  db.close();
}

/** With all of this project's code and none of its keys: lines are chosen, and numbers, hashes and marks made to fit. */
const rewrite = (keep: (line: AuditRecord) => boolean): void =>
  tamper((db) => {
    const lines = (readStoredTrail(folder).lines as AuditRecord[]).filter(keep);
    db.exec("DELETE FROM audit");
    const add = db.prepare(
      `INSERT INTO audit VALUES (@number, @time, @actor, @action, @subject, @reason, @evidence, @policy, @before, @hash, @signature)`,
    );
    let end = { number: 0, hash: noHash };
    for (const line of lines) {
      const moved = { ...line, number: end.number + 1, before: end.hash };
      end = { number: moved.number, hash: hashOfLine(moved) };
      add.run({ ...moved, hash: end.hash, evidence: JSON.stringify(line.evidence) });
    }
    db.prepare("UPDATE marks SET value = ? WHERE key = ?").run(auditHead(end), auditHeadMark);
  });

describe("an audit trail in a database that somebody else wrote to", () => {
  it("is sound as long as nobody did, and is read without being touched", async () => {
    await writeTrail();
    expect(await verdict(true)).toMatchObject({ sound: true, entries: 151, signatures: 4, problems: [] });
    await inStore((store) =>
      store.tidy({ now: noon + days(33), beats: hours(24), history: days(30), auditThrough: 2 }),
    );
    expect((await verdict()).problems).toEqual([{ number: 3, problem: "lines 1 to 2 are missing before it" }]);
  });

  it.each([
    ["a changed reason", "UPDATE audit SET reason = 'other' WHERE number = 2"],
    ["changed evidence", `UPDATE audit SET evidence = '{"attempt":9}' WHERE number = 2`],
    ["evidence that is no JSON", "UPDATE audit SET evidence = '{' WHERE number = 2"],
    ["evidence that is no object", "UPDATE audit SET evidence = '7' WHERE number = 2"],
    ["a reason that is no text", "UPDATE audit SET reason = x'00ff' WHERE number = 2"],
    [
      "a reason that goes on where a text ends",
      "UPDATE audit SET reason = reason || char(0) || 'more' WHERE number = 2",
    ],
    ["a number that is none", "UPDATE audit SET number = 9223372036854775807 WHERE number = 151"],
    ["a line removed from the front", "DELETE FROM audit WHERE number = 1"],
    ["a line removed from the middle", "DELETE FROM audit WHERE number = 3"],
    ["a line removed from the end", "DELETE FROM audit WHERE number = 151"],
    ["every line removed", "DELETE FROM audit"],
    ["the mark of the end removed", "DELETE FROM marks WHERE key = 'audit-head'"],
    ["another store's name", "UPDATE marks SET value = 'store-2' WHERE key = 'audit-store'"],
    ["a termination without its signature", "UPDATE audit SET signature = NULL WHERE number = 30"],
    ["a termination made another action", "UPDATE audit SET action = 'nudge-sent', signature = NULL WHERE number = 30"],
    [
      "two lines exchanged",
      "UPDATE audit SET number = 999 WHERE number = 2; UPDATE audit SET number = 2 WHERE number = 3; UPDATE audit SET number = 3 WHERE number = 999",
    ],
    [
      "a beginning that was cut off under the mark that older versions used for it",
      `INSERT INTO marks SELECT 'audit-anchor', json_object('number', number, 'hash', hash) FROM audit WHERE number = 29;
       DELETE FROM audit WHERE number <= 29`,
    ],
  ])("shows %s", async (_, sql) => {
    await writeTrail();
    tamper((db) => db.exec(sql));
    const { sound, problems } = await verdict();
    expect(sound).toBe(false);
    expect(problems).not.toEqual([]);
  });

  it.each<[string, (line: AuditRecord) => boolean]>([
    ["without its terminations", ({ action }) => action !== "terminate"],
    ["without anything that is signed", ({ signature }) => signature === null],
    ["without its first lines", ({ number }) => number > 30],
    ["without one line in the middle", ({ number }) => number !== 50],
  ])("shows that it was chained anew %s", async (_, keep) => {
    await writeTrail();
    rewrite(keep);
    expect((await verdict()).sound).toBe(false);
  });

  it("that was made to look like one from before there were seals is known by its anchor", async () => {
    await writeTrail();
    rewrite(({ signature }) => signature === null);
    tamper((db) => db.exec("DELETE FROM marks WHERE key = 'audit-store'"));
    const alone = await verdict();
    expect([alone.sound, alone.sealed]).toEqual([true, null]);
    expect(alone.cannotShow[0]).toMatch(/^Nothing of it is sealed/);
    expect((await verdict(true)).problems).toEqual([
      { number: null, problem: expect.stringMatching(/^replaced: the same key sealed another trail \(store-1\)/) },
    ]);
  });

  it("whose end was cut off, seals and mark and all, is known by its anchor and by nothing else", async () => {
    await writeTrail();
    rewrite(({ number }) => number <= 100);
    const alone = await verdict();
    expect(alone.sound).toBe(true);
    expect(alone.cannotShow.join(" ")).toContain("lines that were cut off at the end would not be missed");
    expect((await verdict(true)).problems).toEqual([
      {
        number: 111,
        problem:
          "cut off: file:seals.jsonl holds the seal of line 111, made 2026-02-05T12:00:00.110Z, and the trail ends with line 100",
      },
    ]);
  });
});
