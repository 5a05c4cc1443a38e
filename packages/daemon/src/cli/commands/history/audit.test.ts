import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AuditRecord, Fault } from "@rouse/contract";
import fastify, { type FastifyInstance } from "fastify";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { makeProgram, type Program } from "../../../../../holder/src/output/make-program.test-support.ts";
import { createMemoryDisk, type MemoryDisk } from "../../../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../../../adapters/store-memory/open-memory-store.ts";
import { auditRoutes } from "../../../api/audit.ts";
import { createGuard } from "../../../api/guard.ts";
import { serveTable } from "../../../api/serve-table.test-support.ts";
import { hashOfLine, keepAuditTrail } from "../../../audit/audit-trail.ts";
import { readAuditOf } from "../../../audit/read-audit.ts";
import { sealOf } from "../../../audit/seal-trail.ts";
import { openSigningKey } from "../../../home/signing-key.ts";
import { emptyCommit } from "../../../ports/store.ts";
import { hostile } from "../../show/sample.test-support.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const token = "s3cret-s3cret-s3cret";
const noon = Date.UTC(2026, 1, 5, 12);
let folder = "";
let program: Program;
let home = "";
let disk: MemoryDisk;
let app: FastifyInstance;
let url = "";
let anchors: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rouse-audit-program-"));
  program = await makeProgram(
    import.meta.dirname,
    folder,
    `import { runCli } from "../../run-cli.ts";
     import { openFileAnchor } from "../../../adapters/anchor-file/open-file-anchor.ts";
     import { readStoredTrail } from "../../../adapters/store-sqlite/read-stored-trail.ts";
     const anchors = (folder) => ({ path }) => path === undefined ? null : openFileAnchor({ path, folder });
     const hands = async () => ({ readStoredTrail, anchors });
     process.exitCode = await runCli(process.argv.slice(2), async () => undefined, undefined, hands);`,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A Rouse with a sealed trail of 2003 lines, so that it takes three pages; the last is a termination. */
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "rouse-audit-"));
  disk = createMemoryDisk();
  const store = await openMemoryStore(disk);
  const signing = openSigningKey(home);
  const audit = writeTrail(signing.sign);
  await store.commit({ ...emptyCommit, audit });
  anchors = [];
  const end = audit.at(-1) ?? null;
  const readClock = () => ({ time: noon });
  await serve(readAuditOf({ store, signing, storeId: "store-1", end: () => end, anchors: () => anchors, readClock }));
});

function writeTrail(sign: (text: string) => string): AuditRecord[] {
  const trail = keepAuditTrail({ last: null, store: "store-1", isSealed: false, sign });
  const lines = trail.begin(noon, null);
  while (lines.length < 2003) {
    const number = lines.length + 1;
    const time = noon + (number - 1) * 1000;
    lines.push(
      trail.append({
        time,
        actor: "ada",
        action: number === 2003 ? "terminate" : "nudge-sent",
        subject: number <= 2000 ? "worker-1" : "worker-2",
        reason: number === 2002 ? hostile : "stuck",
        evidence: { attempt: number - 1 },
        policy: "default",
      }),
      ...trail.sealWhenDue(time),
    );
  }
  return lines;
}

afterEach(async () => {
  await app.close();
  rmSync(home, { recursive: true });
});

async function serve(audit: Parameters<typeof auditRoutes>[0]): Promise<void> {
  app = serveTable(auditRoutes(audit));
  let port = 0;
  const open = new Set<string>();
  const guard = createGuard({ token, home, now: () => 0, hosts: ["127.0.0.1"], port: () => port, secure: false, open });
  app.addHook("onRequest", async (request) => {
    const speaker = guard(request.raw);
    if (speaker instanceof Fault) throw speaker;
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  port = (app.server.address() as AddressInfo).port;
  url = `http://127.0.0.1:${port}`;
}

async function rouse(words: readonly string[], env: Record<string, string> = {}) {
  const child = program(["audit", ...words], {
    PATH: process.env["PATH"],
    HOME: home,
    ROUSE_HOME: home,
    ROUSE_URL: url,
    ROUSE_TOKEN: token,
    ...env,
  });
  const texts = { out: "", err: "" };
  child.stdout.on("data", (chunk) => (texts.out += chunk));
  child.stderr.on("data", (chunk) => (texts.err += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...texts };
}

const inHome = (name: string) => join(home, name);

function placeOf(line = "") {
  const { number, hash } = JSON.parse(line) as AuditRecord;
  return { number, hash };
}

describe("rouse audit list", () => {
  it("shows who did what to whom, and why, without anything a terminal acts on", async () => {
    const { code, out } = await rouse(["list", "--limit", "3"]);
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["NO", "TIME", "ACTOR", "ACTION", "ABOUT", "REASON"],
      ["2001", "2026-02-05T12:33:20Z", "ada", "nudge-sent", "worker-2", "stuck"],
      ["2002", "2026-02-05T12:33:21Z", "ada", "nudge-sent", "worker-2", expect.stringContaining("gnp.exe")],
      ["2003", "2026-02-05T12:33:22Z", "ada", "terminate", "worker-2", "stuck"],
      [""],
    ]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it("shows one agent's lines, and all of a line as JSON", async () => {
    const { out } = await rouse(["list", "--agent", "worker-1", "--limit", "1", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ entries: [{ number: 2000, evidence: { attempt: 1999 } }] });
    expect((await rouse(["list", "--agent", "nobody"])).out).toBe("Nothing about nobody.\n");
  });

  it("exits with 2 for a limit that is none, 4 without the right token, 3 when nobody answers", async () => {
    expect((await rouse(["list", "--limit", "0"])).code).toBe(2);
    const refused = await rouse(["list"], { ROUSE_TOKEN: "wrong-wrong-wrong-wrong" });
    expect(refused.code).toBe(4);
    expect(refused.err).not.toContain("wrong-wrong");
    expect((await rouse(["list"], { ROUSE_URL: "http://127.0.0.1:9" })).code).toBe(3);
  });
});

describe("rouse audit verify", () => {
  it("reads every page and finds an untouched trail sound", async () => {
    const { code, out } = await rouse(["verify"]);
    expect(out).toMatch(
      /^The audit trail is sound up to line 2003, sealed 2026-02-05T12:33:22Z\.\n {2}lines +2003\n {2}signatures +32 good\n {2}key +SHA256:\S{43}\n/,
    );
    expect(out).toContain(
      "  - No anchor outside the database was compared, so lines that were cut off at the end before it was given out, while no Rouse was running, would not be missed.\n",
    );
    expect(code).toBe(0);
  });

  it("exits with 1 and names the lines when somebody has been at it", async () => {
    disk.audit[1500] = { ...(disk.audit[1500] as (typeof disk.audit)[number]), reason: "nothing to see" };
    disk.audit.splice(10, 2);
    const { code, out } = await rouse(["verify"]);
    expect(code).toBe(1);
    expect(out).toContain("The audit trail is not sound: 2 problems.");
    expect(out).toContain("  line 13: lines 11 to 12 are missing before it\n");
    expect(out).toContain("  line 1501: it was changed after it was written\n");
    const json = await rouse(["verify", "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ sound: false, entries: 2001, signatures: 32 });
  });

  it("notices that the end was cut off", async () => {
    disk.audit.pop();
    const { code, out } = await rouse(["verify"]);
    expect([code, out]).toEqual([1, expect.stringContaining("line 2003 is missing at the end")]);
  });

  it("compares with the anchors that are configured and with those it is given, and says which could not be asked", async () => {
    const sealed = disk.audit.filter(({ signature }) => signature !== null);
    const seals = sealed.map((line) => `${JSON.stringify(sealOf("store-1", line))}\n`);
    writeFileSync(inHome("all.jsonl"), seals.join(""));
    writeFileSync(inHome("early.jsonl"), seals[0] ?? "");
    anchors = ["file:all.jsonl", "webhook:https://seals.example.com", "file:gone.jsonl"];
    const { code, out } = await rouse(["verify", "--anchor", `file:${inHome("early.jsonl")}`]);
    expect(code).toBe(0);
    expect(out).toContain("file:all.jsonl agrees up to line 2003, sealed 2026-02-05T12:33:22Z\n");
    expect(out).toContain("early.jsonl agrees up to line 1, sealed 2026-02-05T12:00:00Z\n");
    expect(out).toContain(
      "webhook:https://seals.example.com could not be compared: it takes seals and gives none back;",
    );
    expect(out).toContain("gone.jsonl cannot be read (ENOENT)");
    expect(out).toContain("The anchor lies beside the database: whoever can write to that folder could have cut both.");
  });

  it("exits with 1 when an anchor knows more, also of an export", async () => {
    const later = keepAuditTrail({
      last: disk.audit.at(-1) ?? null,
      store: "store-1",
      isSealed: false,
      sign: openSigningKey(home).sign,
    });
    const [seal] = later.seal(noon + 5_000_000, "stopped");
    if (seal === undefined) throw new Error("there is something to seal");
    writeFileSync(inHome("seals.jsonl"), `${JSON.stringify(sealOf("store-1", seal))}\n`);
    await rouse(["export", "--output", inHome("trail.jsonl")]);
    const words = ["verify", "--json", "--anchor", `file:${inHome("seals.jsonl")}`];
    for (const more of [[], ["--file", inHome("trail.jsonl")]]) {
      const { code, out } = await rouse([...words, ...more]);
      expect(code).toBe(1);
      expect(JSON.parse(out).problems).toEqual([
        { number: 2004, problem: expect.stringMatching(/^cut off: .* and the trail ends with line 2003$/) },
      ]);
      expect(JSON.parse(out).anchors).toMatchObject([{ says: "contradicts", newest: { number: 2004 } }]);
    }
  });

  it("exits with 2 for an anchor that is none", async () => {
    const { code, err } = await rouse(["verify", "--anchor", "ftp://example.com"]);
    expect([code, err]).toEqual([2, expect.stringContaining("expected file:PATH, git:REPOSITORY#REF")]);
  });

  it("says so when the program at that address has no audit trail", async () => {
    await app.close();
    app = fastify();
    await app.listen({ host: "127.0.0.1", port: Number(new URL(url).port) });
    const { code, err } = await rouse(["verify"]);
    expect([code, err]).toEqual([3, expect.stringContaining("not a Rouse that has an audit trail")]);
  });
});

describe("rouse audit export", () => {
  it("writes a file that anybody can verify without a Rouse, and only its owner can read", async () => {
    expect(await rouse(["export", "--output", inHome("trail.jsonl")])).toEqual({ code: 0, out: "", err: "" });
    expect(statSync(inHome("trail.jsonl")).mode & 0o777).toBe(0o600);
    const [first, second] = readFileSync(inHome("trail.jsonl"), "utf8").split("\n");
    expect(JSON.parse(first ?? "")).toMatchObject({
      what: "audit trail of Rouse",
      format: 2,
      store: "store-1",
      head: { number: 2003 },
    });
    expect(JSON.parse(second ?? "")).toMatchObject({ number: 1, action: "seal" });
    const nobody = { ROUSE_URL: "http://127.0.0.1:9", ROUSE_HOME: "/nonexistent" };
    const { code, out } = await rouse(["verify", "--file", inHome("trail.jsonl")], nobody);
    expect([code, out]).toEqual([0, expect.stringContaining("The audit trail is sound up to line 2003")]);
    expect((await rouse(["export"])).out.split("\n")).toHaveLength(2005);
  });

  it("overwrites nothing unless it is told to, and then only its owner can read that, too", async () => {
    writeFileSync(inHome("precious"), "mine", { mode: 0o644 });
    const refused = await rouse(["export", "--output", inHome("precious")]);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("--force overwrites it")]);
    expect(readFileSync(inHome("precious"), "utf8")).toBe("mine");
    expect((await rouse(["export", "--output", inHome("precious"), "--force"])).code).toBe(0);
    expect(readFileSync(inHome("precious"), "utf8")).toContain("audit trail of Rouse");
    expect(statSync(inHome("precious")).mode & 0o777).toBe(0o600);
  });

  it.each<[string, (text: string) => string, RegExp]>([
    ["a changed word", (text) => text.replace('"attempt":7', '"attempt":8'), /line 8: it was changed/],
    ["a missing line", (text) => text.replace(/^\{"number":5,.*\n/m, ""), /line 6: line 5 is missing/],
    ["a cut-off end", (text) => text.slice(0, -1000), /2003 (is|are) missing at the end/],
    ["a line that is none", (text) => text.replace(/^\{"number":5,.*\n/m, "hello\n"), /by their place: 5/],
  ])("shows %s when it is verified", async (_, change, message) => {
    await rouse(["export", "--output", inHome("trail.jsonl")]);
    const text = readFileSync(inHome("trail.jsonl"), "utf8");
    expect(change(text)).not.toBe(text);
    writeFileSync(inHome("trail.jsonl"), change(text));
    const { code, out } = await rouse(["verify", "--file", inHome("trail.jsonl")]);
    expect([code, out]).toEqual([1, expect.stringMatching(message)]);
  });

  it.each<[string, (head: Record<string, unknown>, lines: string[]) => [object, string[]]]>([
    ["cut short", (head, lines) => [{ ...head, head: placeOf(lines[99]) }, lines.slice(0, 100)]],
    ["begun later", (head, lines) => [{ ...head, removed: placeOf(lines[99]) }, lines.slice(100)]],
    [
      "begun later in the old format",
      (head, lines) => [{ ...head, format: 1, anchor: placeOf(lines[99]) }, lines.slice(100)],
    ],
  ])("that was %s under a new header is found", async (_, change) => {
    await rouse(["export", "--output", inHome("trail.jsonl")]);
    const [first = "", ...lines] = readFileSync(inHome("trail.jsonl"), "utf8").trim().split("\n");
    const [head, kept] = change(JSON.parse(first), lines);
    writeFileSync(inHome("trail.jsonl"), `${JSON.stringify(head)}\n${kept.join("\n")}\n`);
    const { code, out } = await rouse(["verify", "--file", inHome("trail.jsonl")]);
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/may have been cut off|lines 1 to 100 are missing before it/),
    ]);
  });

  it("of a version that did not seal is chained, not sealed, and not broken", async () => {
    const lines = disk.audit.filter(({ signature }) => signature === null).slice(0, 3);
    let before = "0".repeat(64);
    const old = lines.map((line, i) => {
      const moved = { ...line, number: i + 1, before };
      before = hashOfLine(moved);
      return { ...moved, hash: before };
    });
    const head = {
      what: "audit trail of Rouse",
      format: 1,
      exportedAt: "2026-02-05T12:00:00.000Z",
      publicKey: readFileSync(inHome("audit-key.pub.pem"), "utf8"),
      head: { number: 3, hash: before },
      anchor: null,
    };
    writeFileSync(inHome("old.jsonl"), [head, ...old].map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { code, out } = await rouse(["verify", "--file", inHome("old.jsonl")]);
    expect([code, out]).toEqual([0, expect.stringContaining("sound as far as it goes: chained, not sealed.")]);
    expect(out).toContain("Nothing of it is sealed.");
  });

  it("is not believed under another key when one is named", async () => {
    await rouse(["export", "--output", inHome("trail.jsonl")]);
    const words = ["verify", "--file", inHome("trail.jsonl"), "--key"];
    expect((await rouse([...words, inHome("audit-key.pub.pem")])).code).toBe(0);
    const other = mkdtempSync(join(tmpdir(), "rouse-other-key-"));
    openSigningKey(other);
    const { code, out } = await rouse([...words, join(other, "audit-key.pub.pem")]);
    rmSync(other, { recursive: true });
    expect([code, out]).toEqual([1, expect.stringContaining("line 2003: its signature is not ours")]);
  });

  it("is told from any other file", async () => {
    writeFileSync(inHome("other"), "{}\n");
    const foreign = await rouse(["verify", "--file", inHome("other")]);
    expect([foreign.code, foreign.err]).toEqual([2, expect.stringContaining("not what `rouse audit export` writes")]);
    const missing = await rouse(["verify", "--file", inHome("missing")]);
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining("cannot be read (ENOENT)")]);
  });
});
