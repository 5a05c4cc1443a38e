import { generateKeyPairSync, sign } from "node:crypto";
import type { AuditRecord } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashOfLine, keepAuditTrail, type NewAuditLine } from "./audit-trail.ts";
import { type AuditEnds, verifyAudit } from "./verify-audit.ts";

const keys = generateKeyPairSync("ed25519");
const others = generateKeyPairSync("ed25519");
const pem = (key: typeof keys.publicKey) => key.export({ type: "spki", format: "pem" }) as string;
const publicKey = pem(keys.publicKey);
const signWith = (key: typeof keys.privateKey) => (hash: string) =>
  sign(null, Buffer.from(hash), key).toString("base64");

const someLine: fc.Arbitrary<NewAuditLine> = fc.record({
  time: fc.integer({ min: 0, max: 4e12 }),
  actor: fc.constantFrom("rouse", "ada", "orchestrator"),
  action: fc.constantFrom("terminate", "nudge-sent", "freeze", "incident-opened"),
  subject: fc.option(fc.string()),
  reason: fc.string({ unit: "binary" }),
  evidence: fc.dictionary(
    fc.string({ minLength: 1 }).filter((key) => key !== "__proto__"),
    fc.jsonValue(),
  ),
  policy: fc.option(fc.string()),
});

function write(entries: readonly NewAuditLine[], key = keys.privateKey): AuditRecord[] {
  const trail = keepAuditTrail({ last: null, sign: signWith(key) });
  return entries.map((entry) => trail.append(entry));
}

const endsOf = (lines: readonly AuditRecord[]): AuditEnds => {
  const last = lines.at(-1);
  return { head: last === undefined ? null : { number: last.number, hash: last.hash }, anchor: null };
};

const trail = fc.array(someLine, { maxLength: 12 }).map((entries) => write(entries));
const longTrail = fc.array(someLine, { minLength: 2, maxLength: 12 }).map((entries) => write(entries));
const anyOf = (lines: readonly AuditRecord[]) => fc.integer({ min: 0, max: lines.length - 1 });
const inTrail = longTrail.chain((lines) => fc.tuple(fc.constant(lines), anyOf(lines)));

const line = (action: string, number = 0): NewAuditLine => ({
  time: 1_770_292_800_000 + number,
  actor: "rouse",
  action,
  subject: "worker-1",
  reason: "stuck",
  evidence: { number },
  policy: "default",
});

const five = () => write([1, 2, 3, 4, 5].map((number) => line(number === 3 ? "terminate" : "nudge-sent", number)));
const problemsOf = (lines: readonly AuditRecord[], ends: AuditEnds = endsOf(five())) =>
  verifyAudit(lines, publicKey, ends).problems.map(({ number, problem }) => `${number}: ${problem}`);

describe("an untouched audit trail", () => {
  it("is sound, whatever it says, also after a journey as JSON", () => {
    fc.assert(
      fc.property(trail, (lines) => {
        const read = JSON.parse(JSON.stringify(lines)) as AuditRecord[];
        const signatures = lines.filter(({ action }) => action === "terminate").length;
        const verdict = { sound: true, entries: lines.length, signatures, beginsAt: null, problems: [] };
        expect(verifyAudit(read, publicKey, endsOf(lines))).toEqual(verdict);
        expect(verifyAudit(read, publicKey)).toEqual(verdict);
      }),
    );
  });

  it("is sound when it grew while it was read", () => {
    fc.assert(
      fc.property(inTrail, ([lines, i]) => {
        expect(verifyAudit(lines, publicKey, endsOf(lines.slice(0, i + 1))).sound).toBe(true);
      }),
    );
  });

  it("is sound without its beginning when retention says that it removed just that, before or after it was read", () => {
    fc.assert(
      fc.property(inTrail, ([lines, i]) => {
        const removed = lines[i] as AuditRecord;
        const ends = { ...endsOf(lines), anchor: { number: removed.number, hash: removed.hash } };
        const left = verifyAudit(lines.slice(i + 1), publicKey, i + 1 < lines.length ? ends : { ...ends, head: null });
        expect(left).toMatchObject({ sound: true, beginsAt: i + 1 < lines.length ? i + 2 : null });
        expect(verifyAudit(lines, publicKey, ends).sound).toBe(true);
      }),
    );
  });
});

describe("in an audit trail", () => {
  it("any change of any one field is found", () => {
    const field = fc.constantFrom<keyof AuditRecord>(
      "number",
      "time",
      "actor",
      "action",
      "subject",
      "reason",
      "evidence",
      "policy",
      "before",
      "hash",
      "signature",
    );
    fc.assert(
      fc.property(inTrail, field, fc.jsonValue(), ([lines, i], name, value) => {
        fc.pre(JSON.stringify(lines[i]?.[name]) !== JSON.stringify(value));
        const changed = lines.with(i, { ...(lines[i] as AuditRecord), [name]: value });
        expect(verifyAudit(changed, publicKey, endsOf(lines)).sound).toBe(false);
      }),
    );
  });

  it("a change is found although its own hash was made to fit", () => {
    fc.assert(
      fc.property(inTrail, fc.string(), ([lines, i], reason) => {
        const changed = { ...(lines[i] as AuditRecord), reason };
        fc.pre(changed.reason !== lines[i]?.reason);
        const forged = lines.with(i, { ...changed, hash: hashOfLine(changed) });
        expect(verifyAudit(forged, publicKey, endsOf(lines)).sound).toBe(false);
      }),
    );
  });

  it("a termination is found to be made up although the whole chain was made to fit", () => {
    fc.assert(
      fc.property(fc.array(someLine, { maxLength: 5 }), (entries) => {
        const forged = write([...entries, line("terminate")], others.privateKey);
        expect(verifyAudit(forged, publicKey, endsOf(forged)).sound).toBe(false);
        expect(verifyAudit(forged, pem(others.publicKey), endsOf(forged)).sound).toBe(true);
      }),
    );
  });

  it("any line that was taken out is missed, at the front and at the end too", () => {
    fc.assert(
      fc.property(inTrail, ([lines, i]) => {
        const left = lines.toSpliced(i, 1);
        expect(verifyAudit(left, publicKey, endsOf(lines)).sound).toBe(false);
        // Without knowing its ends, at least every hole in the middle.
        expect(verifyAudit(left, publicKey).sound).toBe(i === 0 || i === lines.length - 1);
      }),
    );
  });

  it("any two lines that changed places are found", () => {
    fc.assert(
      fc.property(
        longTrail.chain((lines) => fc.tuple(fc.constant(lines), anyOf(lines), anyOf(lines))),
        ([lines, i, j]) => {
          fc.pre(i !== j);
          const [a, b] = [lines[i] as AuditRecord, lines[j] as AuditRecord];
          expect(verifyAudit(lines.with(i, b).with(j, a), publicKey, endsOf(lines)).sound).toBe(false);
        },
      ),
    );
  });

  it("a line that was put in, or in twice, is found", () => {
    fc.assert(
      fc.property(inTrail, inTrail, ([lines, i], [strangers, j]) => {
        const stranger = strangers[j] as AuditRecord;
        fc.pre(stranger.hash !== lines[i]?.hash || i > 0);
        expect(verifyAudit(lines.toSpliced(i + 1, 0, lines[i] as AuditRecord), publicKey).sound).toBe(false);
        if (lines.some(({ hash }) => hash === stranger.hash)) return;
        expect(verifyAudit(lines.toSpliced(i, 0, stranger), publicKey, endsOf(lines)).sound).toBe(false);
      }),
    );
  });

  it("what was added to a line is found", () => {
    const [first, ...rest] = five();
    expect(problemsOf([{ ...first, note: "me too" } as unknown as AuditRecord, ...rest])).toEqual([
      "1: it was changed after it was written",
    ]);
  });
});

describe("what is said of a trail that is not sound", () => {
  it("names each line and what is wrong with it", () => {
    const lines = five();
    const [a, b, c, d, e] = lines as [AuditRecord, AuditRecord, AuditRecord, AuditRecord, AuditRecord];
    expect(problemsOf([a, { ...b, reason: "" }, c, d, e])).toEqual(["2: it was changed after it was written"]);
    expect(problemsOf([a, d, e])).toEqual(["4: lines 2 to 3 are missing before it"]);
    expect(problemsOf([a, b, d, c, e])).toEqual([
      "4: line 3 is missing before it",
      "3: it is out of place: it comes after line 4",
      "5: line 4 is missing before it",
    ]);
    expect(problemsOf([a, b, c])).toEqual(["null: lines 4 to 5 are missing at the end"]);
    expect(problemsOf([])).toEqual(["null: lines 1 to 5 are missing at the end"]);
    expect(problemsOf([b, c, d, e])).toEqual(["2: line 1 is missing before it"]);
    expect(problemsOf(lines, { head: null, anchor: null })).toEqual([
      "null: nothing says where the trail ends: lines may be missing",
    ]);
  });

  it("tells what retention removed from what is missing otherwise", () => {
    const lines = five();
    const [, b, c, d, e] = lines as [AuditRecord, AuditRecord, AuditRecord, AuditRecord, AuditRecord];
    const ends = { ...endsOf(lines), anchor: { number: 2, hash: b.hash } };
    expect(problemsOf([c, d, e], ends)).toEqual([]);
    expect(problemsOf([d, e], ends)).toEqual(["4: line 3 is missing before it"]);
    expect(problemsOf([c, d, e], { ...ends, anchor: { number: 2, hash: d.hash } })).toEqual([
      "3: the line before it, removed by retention, is not the one it was written after",
    ]);
    expect(problemsOf(lines, { ...ends, anchor: { number: 2, hash: d.hash } })).toEqual([
      "2: it is not the line that was written",
    ]);
    expect(verifyAudit([d, e], publicKey)).toMatchObject({ sound: true, beginsAt: 4 });
  });

  it("tells a termination without a signature from one with a wrong one", () => {
    const lines = five();
    const third = lines[2] as AuditRecord;
    const signed = (signature: string | null) => problemsOf(lines.with(2, { ...third, signature }));
    expect(signed(third.signature)).toEqual([]);
    expect(signed(null)).toEqual(["3: it is about a termination and is not signed"]);
    for (const wrong of [
      "",
      "?",
      `${third.signature} `,
      `${third.signature}=`,
      signWith(others.privateKey)(third.hash),
    ])
      expect(signed(wrong)).toEqual(["3: its signature is not ours"]);
    const borrowed = lines.with(0, { ...(lines[0] as AuditRecord), signature: third.signature });
    expect(problemsOf(borrowed)).toEqual(["1: its signature is not ours"]);
  });

  it.each([
    ["is none", "not a key"],
    ["is of another kind", pem(generateKeyPairSync("x25519").publicKey)],
  ])("says so when the public key %s", (_, key) => {
    const { sound, problems } = verifyAudit(five(), key, endsOf(five()));
    expect(sound).toBe(false);
    expect(problems).toEqual([
      { number: null, problem: "the public key cannot be read" },
      { number: 3, problem: "its signature cannot be checked" },
    ]);
  });

  it("counts what is no line at all by its place", () => {
    const lines = five();
    const verdict = verifyAudit([null, ...lines.slice(0, 2), { number: "3" }, ...lines.slice(2)], publicKey);
    expect(verdict).toMatchObject({ sound: false, entries: 7 });
    expect(verdict.problems).toEqual([{ number: null, problem: "not lines of an audit trail, by their place: 1, 4" }]);
  });

  it("survives numbers that have no canonical form", () => {
    const [first, ...rest] = five() as [AuditRecord, ...AuditRecord[]];
    expect(problemsOf([{ ...first, evidence: { much: Number.POSITIVE_INFINITY } }, ...rest])).toEqual([
      "1: it was changed after it was written",
    ]);
  });
});
