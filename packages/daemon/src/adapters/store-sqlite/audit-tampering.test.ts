import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { days, hours } from "@rouse/contract";
import Database from "better-sqlite3";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openSigningKey, type SigningKey } from "../../home/signing-key.ts";
import { auditHeadMark, emptyCommit, type Store } from "../../ports/store.ts";
import { auditHead, keepAuditTrail, whereTrailEnds } from "../../runtime/audit-trail.ts";
import { readAuditOf } from "../../runtime/read-audit.ts";
import { verifyAudit } from "../../runtime/verify-audit.ts";
import { type BundledStore, bundleStore } from "./bundle-for-tests.ts";
import { openSqliteStore } from "./open-sqlite-store.ts";

const noon = Date.UTC(2026, 1, 5, 12);
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

/** Six lines, one a day, as the monitor would write them; the fourth is a termination. */
const writeTrail = () =>
  inStore(async (store) => {
    const trail = keepAuditTrail({ last: whereTrailEnds(await store.resume()), sign: key.sign });
    for (let n = 1; n <= 6; n++) {
      const line = trail.append({
        time: noon + days(n),
        actor: "rouse",
        action: n === 4 ? "terminate" : "nudge-sent",
        subject: "worker-1",
        reason: "half of a 😀 and \ud83d",
        evidence: { attempt: n, silent: 0.1 + n },
        policy: "default",
      });
      await store.commit({ ...emptyCommit, audit: [line], marks: { [auditHeadMark]: auditHead(line) } });
    }
  });

const verdict = () =>
  inStore(async (store) =>
    verifyAudit(await store.readAudit({ limit: 99 }), key.publicKey, await readAuditOf(store, key.publicKey).head()),
  );

describe("an audit trail in a database that somebody else wrote to", () => {
  it("is sound as long as nobody did, also after its oldest lines were tidied away", async () => {
    await writeTrail();
    expect(await verdict()).toEqual({ sound: true, entries: 6, signatures: 1, beginsAt: null, problems: [] });
    await inStore((store) => store.tidy({ now: noon + days(33), beats: hours(24), history: days(30) }));
    expect(await verdict()).toEqual({ sound: true, entries: 4, signatures: 1, beginsAt: 3, problems: [] });
  });

  it.each([
    ["a changed reason", "UPDATE audit SET reason = 'other' WHERE number = 2"],
    ["changed evidence", `UPDATE audit SET evidence = '{"attempt":9}' WHERE number = 2`],
    ["evidence that is no JSON", "UPDATE audit SET evidence = '{' WHERE number = 2"],
    ["evidence that is no object", "UPDATE audit SET evidence = '7' WHERE number = 2"],
    ["a reason that is no text", "UPDATE audit SET reason = x'00ff' WHERE number = 2"],
    ["a line removed from the front", "DELETE FROM audit WHERE number = 1"],
    ["a line removed from the middle", "DELETE FROM audit WHERE number = 3"],
    ["a line removed from the end", "DELETE FROM audit WHERE number = 6"],
    ["every line removed", "DELETE FROM audit"],
    ["the mark of the end removed", "DELETE FROM marks WHERE key = 'audit-head'"],
    ["a termination without its signature", "UPDATE audit SET signature = NULL WHERE number = 4"],
    ["a termination made another action", "UPDATE audit SET action = 'nudge-sent', signature = NULL WHERE number = 4"],
    [
      "two lines exchanged",
      "UPDATE audit SET number = 99 WHERE number = 2; UPDATE audit SET number = 2 WHERE number = 3; UPDATE audit SET number = 3 WHERE number = 99",
    ],
  ])("shows %s", async (_, sql) => {
    await writeTrail();
    const db = new Database(join(folder, "rouse.db"));
    db.exec(sql);
    db.close();
    const { sound, problems } = await verdict();
    expect(sound).toBe(false);
    expect(problems).not.toEqual([]);
  });
});
