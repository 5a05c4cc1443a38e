import { generateKeyPairSync, sign } from "node:crypto";
import type { AuditRecord } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashOfLine, headText, keepAuditTrail, type NewAuditLine } from "./audit-trail.ts";
import type { AuditEnds } from "./check-seals.ts";
import { verifyAudit } from "./verify-audit.ts";

const keys = generateKeyPairSync("ed25519");
const others = generateKeyPairSync("ed25519");
const pem = (key: typeof keys.publicKey) => key.export({ type: "spki", format: "pem" }) as string;
const publicKey = pem(keys.publicKey);
const signWith = (key: typeof keys.privateKey) => (text: string) =>
  sign(null, Buffer.from(text), key).toString("base64");
const store = "store-1";
const dawn = 1_770_292_800_000;

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

/** A trail as a monitor writes it: line 1 is its first seal. */
function write(entries: readonly NewAuditLine[], key = keys.privateKey): AuditRecord[] {
  const trail = keepAuditTrail({ last: null, store, isSealed: true, sign: signWith(key) });
  return [
    ...trail.begin(dawn, null),
    ...entries.flatMap((entry) => [trail.append(entry), ...trail.sealWhenDue(entry.time)]),
  ];
}

const endsOf = (lines: readonly AuditRecord[]): AuditEnds => {
  const last = lines.at(-1);
  const head = last === undefined ? null : { number: last.number, hash: last.hash };
  return { head, store, removed: null, told: null };
};

const trail = fc.array(someLine, { maxLength: 12 }).map((entries) => write(entries));
const longTrail = fc.array(someLine, { minLength: 2, maxLength: 12 }).map((entries) => write(entries));
const anyOf = (lines: readonly AuditRecord[]) => fc.integer({ min: 0, max: lines.length - 1 });
const inTrail = longTrail.chain((lines) => fc.tuple(fc.constant(lines), anyOf(lines)));

const line = (action: string, number = 0): NewAuditLine => ({
  time: dawn + number,
  actor: "rouse",
  action,
  subject: "worker-1",
  reason: "stuck",
  evidence: { number },
  policy: "default",
});

/** The first is the seal, the third a termination. */
const five = () => write([2, 3, 4, 5].map((number) => line(number === 3 ? "terminate" : "nudge-sent", number)));
const problemsOf = (lines: readonly AuditRecord[], ends: AuditEnds = endsOf(five())) =>
  verifyAudit(lines, publicKey, ends).problems.map(({ number, problem }) => `${number}: ${problem}`);

describe("an untouched audit trail", () => {
  it("is sound, whatever it says, also after a journey as JSON", () => {
    fc.assert(
      fc.property(trail, (lines) => {
        const read = JSON.parse(JSON.stringify(lines)) as AuditRecord[];
        const signatures = lines.filter(({ action }) => action === "terminate").length + 1;
        const verdict = { sound: true, entries: lines.length, signatures, beginsAt: null, problems: [] };
        expect(verifyAudit(read, publicKey, endsOf(lines))).toMatchObject(verdict);
        expect(verifyAudit(read, publicKey)).toMatchObject(verdict);
      }),
    );
  });

  it("of any length is sealed but for the last 63 lines at most", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), (count) => {
        const lines = write(Array.from({ length: count }, (_, i) => line("nudge-sent", i)));
        const { sound, sealed, unsealed } = verifyAudit(lines, publicKey, endsOf(lines));
        const through = sealed?.number ?? 0;
        expect([sound, lines.length - through < 64]).toEqual([true, true]);
        expect(unsealed).toEqual(through === lines.length ? null : { from: through + 1, to: lines.length });
      }),
      { numRuns: 20 },
    );
  });

  it("is sound when it grew while it was read", () => {
    fc.assert(
      fc.property(inTrail, ([lines, i]) => {
        expect(verifyAudit(lines, publicKey, endsOf(lines.slice(0, i + 1))).sound).toBe(true);
      }),
    );
  });

  it("is sound without its beginning when it says itself that retention removed just that, before or after it was read", () => {
    fc.assert(
      fc.property(
        fc.array(someLine, { minLength: 1, maxLength: 9 }),
        fc.integer({ min: 0, max: 8 }),
        (entries, nth) => {
          const { lines, end } = tidied(entries, nth);
          expect(verifyAudit(lines.slice(end), publicKey, endsOf(lines))).toMatchObject({
            sound: true,
            beginsAt: end + 1,
          });
          expect(verifyAudit(lines, publicKey, endsOf(lines)).sound).toBe(true);
          expect(verifyAudit(lines.slice(end + 1), publicKey, endsOf(lines)).sound).toBe(false);
        },
      ),
    );
  });
});

/** A trail that says that its first lines, `end` in number, were removed. */
function tidied(entries: readonly NewAuditLine[], nth: number) {
  const trail = keepAuditTrail({ last: null, store, isSealed: true, sign: signWith(keys.privateKey) });
  const old = [...trail.begin(dawn, null), ...entries.map((entry) => trail.append(entry))];
  const end = (nth % old.length) + 1;
  const { number, hash } = old[end - 1] as AuditRecord;
  const said = trail.append({ ...line("audit-removed"), evidence: { store, removed: { number, hash } } });
  return { lines: [...old, said, trail.append(line("freeze"))], end };
}

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

  it("a line is found to be made up although the whole chain was made to fit, for want of the key", () => {
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
        if (i > 0 && i < lines.length - 1) expect(verifyAudit(left, publicKey).sound).toBe(false);
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
    expect(problemsOf(lines, { ...endsOf(lines), head: null })).toEqual([
      "null: nothing says where the trail ends: lines may be missing",
    ]);
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
      signWith(others.privateKey)(`rouse audit ${store} 3 ${third.hash}`),
      signWith(keys.privateKey)(`rouse audit store-2 3 ${third.hash}`),
      signWith(keys.privateKey)(third.hash),
    ])
      expect(signed(wrong)).toEqual(["3: its signature is not ours"]);
    const borrowed = lines.with(1, { ...(lines[1] as AuditRecord), signature: third.signature });
    expect(problemsOf(borrowed)).toEqual(["2: its signature is not ours"]);
  });

  it.each([
    ["is none", "not a key"],
    ["is of another kind", pem(generateKeyPairSync("x25519").publicKey)],
  ])("says so when the public key %s", (_, key) => {
    const { sound, problems } = verifyAudit(five(), key, endsOf(five()));
    expect(sound).toBe(false);
    expect(problems.slice(0, 3)).toEqual([
      { number: null, problem: "the public key cannot be read" },
      { number: 1, problem: "its signature cannot be checked" },
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

/** Whoever can write to the database and has all of our code, but not the key. */
function rechain(lines: readonly AuditRecord[]): AuditRecord[] {
  let before = "0".repeat(64);
  return lines.map((given, i) => {
    const moved = { ...given, number: i + 1, before };
    before = hashOfLine(moved);
    return { ...moved, hash: before };
  });
}

describe("somebody without the key who writes the chain anew, ends and all", () => {
  const long = () => write(Array.from({ length: 200 }, (_, i) => line(i % 90 === 3 ? "terminate" : "nudge-sent", i)));
  const soundAfter = (forged: readonly AuditRecord[]) => verifyAudit(forged, publicKey, endsOf(forged)).sound;

  it("cannot take out the terminations", () => {
    expect(soundAfter(long())).toBe(true);
    const kept = rechain(long().filter(({ action }) => action !== "terminate"));
    expect(soundAfter(kept)).toBe(false);
    expect(verifyAudit(kept, publicKey, endsOf(kept)).problems[0]).toEqual({
      number: 69,
      problem: "its signature is not ours",
    });
  });

  it("cannot take out the terminations and every seal", () => {
    const bare = rechain(long().filter(({ signature }) => signature === null));
    const { sound, problems } = verifyAudit(bare, publicKey, endsOf(bare));
    expect([sound, problems]).toEqual([
      false,
      [{ number: 1, problem: "nothing from here on is sealed, though this Rouse seals its trail" }],
    ]);
  });

  it("can only make it look like one from before there were seals, and then that is what is said", () => {
    const bare = rechain(long().filter(({ signature }) => signature === null));
    const { sound, sealed, cannotShow } = verifyAudit(bare, publicKey, { ...endsOf(bare), store: null });
    expect([sound, sealed]).toEqual([true, null]);
    expect(cannotShow[0]).toMatch(/^Nothing of it is sealed\./);
  });

  it("cannot begin it later under a new header", () => {
    const lines = long();
    const removed = { number: 100, hash: lines[99]?.hash ?? "" };
    const cut = lines.slice(100);
    expect(verifyAudit(cut, publicKey, { ...endsOf(cut), removed }).problems).toEqual([
      { number: 101, problem: "lines 1 to 100 are missing before it" },
    ]);
    expect(soundAfter(rechain(cut))).toBe(false);
  });

  it("cannot say that retention removed it", () => {
    const lines = long();
    const { number, hash } = lines[99] as AuditRecord;
    const said = { ...line("audit-removed"), evidence: { store, removed: { number, hash } } };
    const last = lines.at(-1) as AuditRecord;
    const theirs = keepAuditTrail({ last, store, isSealed: true, sign: signWith(others.privateKey) });
    const forged = [...lines.slice(100), theirs.append(said)];
    expect(verifyAudit(forged, publicKey, endsOf(forged)).problems).toEqual([
      { number: forged.at(-1)?.number, problem: "its signature is not ours" },
      { number: 101, problem: "lines 1 to 100 are missing before it" },
    ]);
  });

  it("cannot write more than 64 lines after the last seal that is left", () => {
    const lines = long().slice(0, 72);
    const theirs = keepAuditTrail({ last: lines.at(-1) as AuditRecord, store, isSealed: true, sign: () => "" });
    const more = Array.from({ length: 65 }, (_, i) => theirs.append(line("nudge-sent", i)));
    expect(soundAfter([...lines, ...more.slice(0, 50)])).toBe(true);
    const sealed = lines.findLast(({ signature }) => signature !== null)?.number ?? 0;
    const { problems } = verifyAudit([...lines, ...more], publicKey, endsOf([...lines, ...more]));
    expect(problems).toEqual([
      { number: sealed + 1, problem: `lines ${sealed + 1} to 137 are not sealed, though every 64 lines are` },
    ]);
  });

  it("cannot seal it with a key of their own", () => {
    const forged = write([line("nudge-sent")], others.privateKey);
    const { sound, problems } = verifyAudit(forged, publicKey, endsOf(forged));
    expect([sound, problems[0]]).toEqual([false, { number: 1, problem: "its signature is not ours" }]);
  });

  it("cannot put the trail of another store of the same key in its place", () => {
    const lines = long();
    const { sound, problems } = verifyAudit(lines, publicKey, { ...endsOf(lines), store: "store-2" });
    expect([sound, problems[0]]).toEqual([false, { number: 1, problem: "its signature is not ours" }]);
  });

  it("cannot have the trail begun a second time unnoticed", () => {
    const first = rechain(long().filter(({ signature }) => signature === null));
    const ours = keepAuditTrail({
      last: first.at(-1) as AuditRecord,
      store,
      isSealed: true,
      sign: signWith(keys.privateKey),
    });
    const taken = [...first, ...ours.begin(dawn, null)];
    expect(verifyAudit(taken, publicKey, endsOf(taken))).toMatchObject({
      sound: true,
      takenOver: { from: 1, to: first.length },
    });
    const twice = [...taken, ...ours.begin(dawn, null)];
    expect(verifyAudit(twice, publicKey, endsOf(twice)).problems).toEqual([
      { number: twice.length, problem: expect.stringMatching(/^the trail was begun a second time here/) },
    ]);
  });

  it("can cut off the end, and then it is said that nobody could see that", () => {
    const cut = long().slice(0, 66);
    const { sound, cannotShow } = verifyAudit(cut, publicKey, endsOf(cut));
    expect(sound).toBe(true);
    expect(cannotShow).toContain(
      "No anchor outside the database was compared, so lines that were cut off at the end would not be missed, back to any earlier one.",
    );
  });

  it("cannot cut off the end of what a Rouse gave out with its signature", () => {
    const lines = long();
    const time = "2026-02-05T12:00:00.000Z";
    const toldOf = (end: AuditRecord) => ({ time, signature: signWith(keys.privateKey)(headText(store, end, time)) });
    const told = toldOf(lines.at(-1) as AuditRecord);
    expect(verifyAudit(lines, publicKey, { ...endsOf(lines), told }).sound).toBe(true);
    const cut = lines.slice(0, 66);
    const problem = "what is said of its end was not signed by this key: it may have been cut off";
    expect(verifyAudit(cut, publicKey, { ...endsOf(cut), told }).problems).toEqual([{ number: null, problem }]);
    // A signature from inside the trail is not one of its end.
    const { number, signature } = cut.findLast((one) => one.signature !== null) as AuditRecord;
    const borrowed = { time, signature: signature ?? "" };
    const shorter = cut.slice(0, number);
    expect(verifyAudit(shorter, publicKey, { ...endsOf(shorter), told: borrowed }).problems).toEqual([
      { number: null, problem },
    ]);
  });
});

describe("a trail from before there were seals", () => {
  /** Terminations were signed over their hash. */
  const old = (): AuditRecord[] =>
    rechain(five().slice(1)).map((one) =>
      one.action === "terminate" ? { ...one, signature: signWith(keys.privateKey)(one.hash) } : one,
    );

  it("is chained and not sealed, and not broken", () => {
    const lines = old();
    expect(verifyAudit(lines, publicKey, { ...endsOf(lines), store: null })).toMatchObject({
      sound: true,
      sealed: null,
      signatures: 1,
      problems: [],
    });
    const cut = lines.slice(2);
    const removed = { number: 2, hash: lines[1]?.hash ?? "" };
    expect(verifyAudit(cut, publicKey, { ...endsOf(cut), store: null, removed }).sound).toBe(true);
    expect(verifyAudit(cut, publicKey, { ...endsOf(cut), store: null }).problems).toEqual([
      { number: 3, problem: "lines 1 to 2 are missing before it" },
    ]);
  });

  it("is sealed as it is when it is taken over, what retention had removed included", () => {
    const lines = old().slice(1);
    const removed = { number: 1, hash: old()[0]?.hash ?? "" };
    const trail = keepAuditTrail({
      last: lines.at(-1) as AuditRecord,
      store,
      isSealed: false,
      sign: signWith(keys.privateKey),
    });
    const all = [...lines, ...trail.begin(dawn, removed), trail.append(line("freeze"))];
    const verdict = verifyAudit(all, publicKey, endsOf(all));
    expect(verdict).toMatchObject({ sound: true, beginsAt: 2, sealed: { number: 5 }, takenOver: { from: 2, to: 4 } });
    expect(verdict.cannotShow[0]).toMatch(/^Lines 2 to 4 are written before trails were sealed/);
    expect(verifyAudit(all.slice(1), publicKey, endsOf(all)).problems[0]?.problem).toBe("line 2 is missing before it");
  });
});
