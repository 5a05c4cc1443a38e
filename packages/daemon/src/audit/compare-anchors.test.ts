import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { AuditRecord, AuditSeal } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { keepAuditTrail } from "./audit-trail.ts";
import { compareAnchor } from "./compare-anchors.ts";
import { sealOf } from "./seal-trail.ts";

const dawn = Date.UTC(2026, 1, 5, 12);
const [ours, theirs] = [generateKeyPairSync("ed25519").privateKey, generateKeyPairSync("ed25519").privateKey];

/** Ten stops, each a seal; `twist` makes it another trail. */
function write(key: KeyObject, store: string, twist = ""): AuditRecord[] {
  const by = (text: string) => sign(null, Buffer.from(text), key).toString("base64");
  const trail = keepAuditTrail({ last: null, store, isSealed: false, sign: by });
  const stop = { actor: "rouse", action: "terminate", subject: "worker-1", evidence: {}, policy: null };
  return Array.from({ length: 10 }, (_, i) =>
    trail.append({ ...stop, time: dawn + i, reason: i < 5 ? "stuck" : `stuck${twist}` }),
  );
}

const sealsOf = (lines: readonly AuditRecord[], store = "store-1") =>
  lines.flatMap((line) => sealOf(store, line) ?? []);

function compare(seals: readonly unknown[] | null, lines = write(ours, "store-1"), problem: string | null = null) {
  const reading = { anchor: "file:/seals", seals, problem, isBeside: false };
  const { verdict, problems } = compareAnchor(reading, lines, "store-1", createPublicKey(ours));
  return { ...verdict, problems: problems.map(({ number, problem: told }) => `${number}: ${told}`) };
}

describe("an anchor", () => {
  const seals = sealsOf(write(ours, "store-1"));

  it("agrees with the trail whose seals it holds, also when it is behind or the trail lost its beginning", () => {
    expect(compare(seals)).toMatchObject({ says: "agrees", newest: { number: 10 }, problems: [] });
    expect(compare(seals.slice(0, 4))).toMatchObject({ says: "agrees", newest: { number: 4 } });
    expect(compare(seals, write(ours, "store-1").slice(6))).toMatchObject({ says: "agrees" });
  });

  it("that knows a later line says that the end was cut off, and when it was there", () => {
    expect(compare(seals, write(ours, "store-1").slice(0, 7))).toMatchObject({
      says: "contradicts",
      problems: [
        "10: cut off: file:/seals holds the seal of line 10, made 2026-02-05T12:00:00.009Z, and the trail ends with line 7",
      ],
    });
  });

  it("that knows another line of a number says that it was written anew, of the first few", () => {
    expect(compare(seals, write(ours, "store-1", " again")).problems).toEqual(
      [6, 7, 8].map(
        (n) => `${n}: rewritten: file:/seals holds another line of this number, sealed 2026-02-05T12:00:00.00${n - 1}Z`,
      ),
    );
  });

  it("that holds a forged seal of this trail says so, and believes it in nothing else", () => {
    const forged: AuditSeal = { ...(seals[9] as AuditSeal), number: 99 };
    expect(compare([...seals, forged]).problems).toEqual(["99: file:/seals holds a seal of it that is not ours"]);
    expect(compare(sealsOf(write(theirs, "store-1"))).says).toBe("contradicts");
  });

  it("may be shared with trails of others, which say nothing", () => {
    const others = sealsOf(write(theirs, "store-2"), "store-2");
    expect(compare([...others, ...seals, null, { number: 1 }])).toMatchObject({ says: "agrees", problems: [] });
    expect(compare(others)).toMatchObject({ says: "silent", problem: "it holds no seal of this trail" });
  });

  it("that holds another trail of the same key says that the database was replaced", () => {
    const replaced = sealsOf(write(ours, "store-0"), "store-0");
    expect(compare([...replaced, ...seals]).problems).toEqual([
      expect.stringMatching(
        /^null: replaced: the same key sealed another trail \(store-0\) at file:\/seals, up to line 10/,
      ),
    ]);
  });

  it("that could not be asked says nothing, and why", () => {
    expect(compare(null, [], "it cannot be read")).toMatchObject({ says: "silent", problem: "it cannot be read" });
  });
});
