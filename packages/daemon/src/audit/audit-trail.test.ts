import { describe, expect, it } from "vitest";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { auditHeadMark, emptyCommit, type Store } from "../ports/store.ts";
import {
  auditHead,
  hashOfLine,
  keepAuditTrail,
  type NewAuditLine,
  readPlace,
  sealEvery,
  whereTrailEnds,
} from "./audit-trail.ts";
import { verifyAudit } from "./verify-audit.ts";

const entry: NewAuditLine = {
  time: Date.UTC(2026, 1, 5, 12),
  actor: "ada",
  action: "freeze",
  subject: null,
  reason: "maintenance",
  evidence: {},
  policy: "default",
};
const known = { store: "store-1", isSealed: true, sign: (text: string) => `signed ${text}` };
const begin = () => keepAuditTrail({ last: null, ...known });

describe("the audit trail", () => {
  it("numbers its lines and chains each to the one before it", () => {
    const trail = begin();
    const [first, second] = [trail.append(entry), trail.append(entry)];
    expect(first).toMatchObject({ number: 1, time: "2026-02-05T12:00:00.000Z", before: "0".repeat(64) });
    expect(second).toMatchObject({ number: 2, before: first.hash });
    expect(second.hash).not.toBe(first.hash);
    expect(keepAuditTrail({ last: second, ...known }).append(entry)).toMatchObject({ number: 3, before: second.hash });
  });

  it("signs what only it may say, as line of this store: stops, ordered and done, and what retention removed", () => {
    const trail = begin();
    for (const action of ["terminate", "termination-ordered", "audit-removed"]) {
      const { number, hash, signature } = trail.append({ ...entry, action });
      expect(signature).toBe(`signed rouse audit store-1 ${number} ${hash}`);
    }
    for (const action of ["freeze", "termination-refused"])
      expect(trail.append({ ...entry, action }).signature).toBeNull();
  });

  it("begins with a seal that names the store, and what was removed before there were seals", () => {
    const removed = { number: 7, hash: "h" };
    expect(begin().begin(entry.time, removed)).toEqual([
      expect.objectContaining({
        number: 1,
        action: "seal",
        reason: "beginning",
        evidence: { store: "store-1", removed },
        signature: expect.stringMatching(/^signed rouse audit store-1 1 [0-9a-f]{64}$/),
      }),
    ]);
  });

  it("has a seal due after every 64 lines without a signature", () => {
    const trail = begin();
    const writeUntilDue = () => {
      for (let lines = 1; lines <= 2 * sealEvery; lines++) {
        trail.append(entry);
        if (trail.sealWhenDue(entry.time).length > 0) return lines;
      }
      return "never";
    };
    expect([writeUntilDue(), writeUntilDue()]).toEqual([sealEvery, sealEvery]);
    for (let i = 0; i < 10; i++) trail.append(entry);
    trail.append({ ...entry, action: "terminate" });
    expect(writeUntilDue()).toBe(sealEvery);
  });

  it("is sealed with what else is to be signed", () => {
    const trail = begin();
    trail.append(entry);
    expect(trail.seal(entry.time, "stopped")).toMatchObject([{ number: 2, action: "seal", reason: "stopped" }]);
    const crashed = keepAuditTrail({ ...known, last: { number: 5, hash: "e" }, isSealed: false });
    const evidence = { store: known.store, unsealed: 1 };
    expect(crashed.seal(entry.time, "started", { unsealed: 1 })).toMatchObject([{ number: 6, before: "e", evidence }]);
  });

  it("hashes what a line says, in whatever order it says it", () => {
    const { hash, signature, ...said } = begin().append({ ...entry, evidence: { b: 1, a: [2, { d: 3, c: 4 }] } });
    const shuffled = Object.fromEntries(Object.entries(said).reverse());
    expect(hashOfLine({ ...shuffled, hash: "any", signature: "any" })).toBe(hash);
    expect(hashOfLine({ ...said, reason: "other" })).not.toBe(hash);
    expect(signature).toBeNull();
  });

  it("keeps texts harmless, short and as a store gives them back", () => {
    const hostile = `\u001b[31mred\u202e\ud800 ${"x".repeat(9999)}`;
    const { actor, reason, evidence } = begin().append({
      ...entry,
      actor: "a\nb",
      reason: hostile,
      evidence: { said: [hostile], count: Number.NaN, nothing: undefined },
    });
    expect(actor).toBe("a b");
    expect(reason).toMatch(/^\ufffd\[31mred\ufffd\ufffd x+…$/);
    expect(reason).toHaveLength(501);
    expect(evidence).toEqual({ said: [reason], count: null });
    const cutInTwo = begin().append({ ...entry, reason: `${"x".repeat(499)}😀` });
    expect(begin().append({ ...entry, evidence: { pids: Array(999).fill(1) } }).evidence["pids"]).toHaveLength(50);
    expect(cutInTwo.reason).toBe(`${"x".repeat(499)}\ufffd…`);
  });
});

describe("a mark of a place in the trail", () => {
  it("is read as it was written, and is no place when it is anything else", () => {
    const line = begin().append(entry);
    expect(readPlace(auditHead(line))).toEqual({ number: 1, hash: line.hash });
    for (const mark of [null, undefined, "", "{", "null", "7", '{"number":"1","hash":"x"}', '{"number":1}'])
      expect(readPlace(mark)).toBeNull();
  });
});

describe("a monitor that starts again", () => {
  const unsigned = "none of these lines is signed";
  async function write(store: Store, count: number): Promise<void> {
    const trail = keepAuditTrail({ last: whereTrailEnds(await store.resume()), ...known });
    const audit = Array.from({ length: count }, () => trail.append(entry));
    const last = audit.at(-1);
    await store.commit({ ...emptyCommit, audit, marks: last ? { [auditHeadMark]: auditHead(last) } : {} });
  }
  const problemsIn = async (store: Store) => {
    const lines = await store.readAudit({ limit: 99 });
    const head = readPlace((await store.resume()).marks[auditHeadMark]);
    const { problems } = verifyAudit(lines, unsigned, { head, store: null, removed: null, told: null });
    return problems.slice(1); // the first says that the key is none
  };

  it("goes on where the trail ended", async () => {
    const disk = createMemoryDisk();
    for (const count of [3, 2, 1]) {
      await write(await openMemoryStore(disk), count);
      disk.crash();
    }
    const store = await openMemoryStore(disk);
    expect(await store.readAudit({ limit: 99 })).toHaveLength(6);
    expect(await problemsIn(store)).toEqual([]);
  });

  it("does not cover up that the end of the trail was cut off behind its back", async () => {
    const disk = createMemoryDisk();
    const store = await openMemoryStore(disk);
    await write(store, 5);
    disk.audit.splice(3);
    await write(store, 2);
    expect((await store.readAudit({ limit: 99 })).map(({ number }) => number)).toEqual([1, 2, 3, 6, 7]);
    expect(await problemsIn(store)).toEqual([{ number: 6, problem: "lines 4 to 5 are missing before it" }]);
  });

  it("does not cover up that the last line was written anew", async () => {
    const disk = createMemoryDisk();
    const store = await openMemoryStore(disk);
    await write(store, 2);
    const { hash: _, ...last } = { ...disk.audit[1], reason: "other" };
    disk.audit[1] = { ...last, hash: hashOfLine(last) } as (typeof disk.audit)[number];
    await write(store, 1);
    expect(await problemsIn(store)).toEqual([
      { number: 3, problem: "the line before it is not the one it was written after" },
    ]);
  });

  it("goes by the last line when the mark is gone or behind", async () => {
    const lastAudit = { number: 4, hash: "d" };
    expect(whereTrailEnds({ lastAudit, marks: {} })).toEqual(lastAudit);
    expect(whereTrailEnds({ lastAudit, marks: { [auditHeadMark]: '{"number":3,"hash":"c"}' } })).toEqual(lastAudit);
    expect(whereTrailEnds({ lastAudit: null, marks: {} })).toBeNull();
  });
});
