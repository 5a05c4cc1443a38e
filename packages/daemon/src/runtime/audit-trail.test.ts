import { describe, expect, it } from "vitest";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { auditHeadMark, emptyCommit, type Store } from "../ports/store.ts";
import { auditHead, hashOfLine, keepAuditTrail, type NewAuditLine, readPlace, whereTrailEnds } from "./audit-trail.ts";
import { readAuditOf } from "./read-audit.ts";
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
const sign = (hash: string) => `signed ${hash}`;
const begin = () => keepAuditTrail({ last: null, sign });

describe("the audit trail", () => {
  it("numbers its lines and chains each to the one before it", () => {
    const trail = begin();
    const [first, second] = [trail.append(entry), trail.append(entry)];
    expect(first).toMatchObject({ number: 1, time: "2026-02-05T12:00:00.000Z", before: "0".repeat(64) });
    expect(second).toMatchObject({ number: 2, before: first.hash });
    expect(second.hash).not.toBe(first.hash);
    expect(keepAuditTrail({ last: second, sign }).append(entry)).toMatchObject({ number: 3, before: second.hash });
  });

  it("signs terminations and nothing else", () => {
    const trail = begin();
    const line = trail.append({ ...entry, action: "terminate" });
    expect(line.signature).toBe(`signed ${line.hash}`);
    for (const action of ["freeze", "termination-ordered", "termination-refused"])
      expect(trail.append({ ...entry, action }).signature).toBeNull();
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
    const trail = keepAuditTrail({ last: whereTrailEnds(await store.resume()), sign });
    const audit = Array.from({ length: count }, () => trail.append(entry));
    const last = audit.at(-1);
    await store.commit({ ...emptyCommit, audit, marks: last ? { [auditHeadMark]: auditHead(last) } : {} });
  }
  const problemsIn = async (store: Store) => {
    const lines = await store.readAudit({ limit: 99 });
    const { problems } = verifyAudit(lines, unsigned, await readAuditOf(store, unsigned).head());
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
