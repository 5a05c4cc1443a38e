import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { AnchorVerdict, AuditRecord, AuditSeal } from "@rouse/contract";
import { verifyWebhook } from "@rouse/sdk";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { auditHead, hashOfLine, noHash } from "../packages/daemon/src/audit/audit-trail.ts";
import { DatabaseSync } from "../packages/holder/src/load-sqlite.ts";
import { afterwards, cleanUp } from "./clean-up.ts";
import { runRouse } from "./run-rouse.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);
afterAll(cleanUp);

const anchoredAt = (...anchors: string[]): string =>
  `health_monitoring:\n  audit: { anchor: ${JSON.stringify(anchors)} }\n`;

const readSeals = (file: string): AuditSeal[] =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : [];

const linesOf = async (daemon: Daemon): Promise<AuditRecord[]> =>
  JSON.parse((await daemon.cli("audit", "list", "--json", "--limit", "1000")).stdout).entries;

async function verify(home: string, ...words: string[]) {
  const { code, stdout, stderr } = await runRouse(["audit", "verify", "--json", ...words], { home });
  return { code, verdict: stdout === "" ? stderr : JSON.parse(stdout) };
}

/** An agent that is stopped by a person, so that the trail has something to hide. */
async function stopSomebody(daemon: Daemon): Promise<void> {
  expect((await daemon.cli("spawn", "--name", "victim", "--", "sleep", "1000")).code).toBe(0);
  expect((await daemon.cli("terminate", "victim", "--reason", "in the way")).code).toBe(0);
}

/** Whoever can write to the database and has all of our code, but not the key. */
function rewrite(home: string, keep: (line: AuditRecord) => boolean, more = ""): void {
  const db = new DatabaseSync(join(home, "rouse.db"));
  const rows = db.prepare("SELECT * FROM audit ORDER BY number").all() as (AuditRecord & { evidence: string })[];
  const add = db.prepare(
    "INSERT INTO audit VALUES (@number, @time, @actor, @action, @subject, @reason, @evidence, @policy, @before, @hash, @signature)",
  );
  db.exec("DELETE FROM audit");
  let end = { number: 0, hash: noHash };
  for (const row of rows.filter(keep)) {
    const moved = { ...row, number: end.number + 1, before: end.hash };
    end = { number: moved.number, hash: hashOfLine({ ...moved, evidence: JSON.parse(row.evidence) }) };
    add.run({ ...moved, hash: end.hash });
  }
  db.prepare("UPDATE marks SET value = ? WHERE key = 'audit-head'").run(auditHead(end));
  db.exec(more);
  db.close();
}

describe("the audit trail of a daemon", () => {
  it("is sealed, anchored and verified, whether the daemon runs or not", async () => {
    const daemon = await startDaemon();
    await stopSomebody(daemon);
    const lines = await linesOf(daemon);
    const signed = lines.filter(({ signature }) => signature !== null).map(({ action }) => action);
    expect(signed).toEqual(["seal", "order-stop", "termination-ordered", "terminate"]);
    const file = join(daemon.home, "audit-seals.jsonl");
    await until("the stop is anchored", () => readSeals(file).some(({ number }) => number >= lines.length));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const running = await verify(daemon.home);
    expect(running).toMatchObject({ code: 0, verdict: { sound: true, anchors: [{ says: "agrees" }] } });
    await daemon.end("SIGTERM");
    const stopped = await verify(daemon.home);
    expect(stopped).toMatchObject({ code: 0, verdict: { sound: true, unsealed: null } });
    expect(stopped.verdict.sealed.number).toBe(stopped.verdict.entries);
    expect(readSeals(file).at(-1)?.number).toBe(stopped.verdict.entries);
  });

  it("shows that a stop was taken out and the rest chained anew, before and after the next start", async () => {
    const daemon = await startDaemon();
    await stopSomebody(daemon);
    await daemon.end("SIGTERM");
    rewrite(daemon.home, ({ action }) => action !== "terminate" && action !== "termination-ordered");
    expect((await verify(daemon.home)).code).toBe(1);
    await startDaemon({ home: daemon.home });
    expect((await verify(daemon.home)).code).toBe(1);
  });

  it("that was made to look like one from before there were seals is known by its anchor, before and after the next start", async () => {
    const daemon = await startDaemon();
    await stopSomebody(daemon);
    await daemon.end("SIGKILL");
    rewrite(daemon.home, ({ signature }) => signature === null, "DELETE FROM marks WHERE key = 'audit-store'");
    for (const start of [false, true]) {
      if (start) await startDaemon({ home: daemon.home });
      const { code, verdict } = await verify(daemon.home);
      expect(code).toBe(1);
      // The store keeps its id: what is sealed anew after the next start contradicts what the anchor holds of the same
      // trail.
      expect(verdict.problems.at(-1).problem).toMatch(
        start ? /^rewritten: / : /^replaced: the same key sealed another trail/,
      );
    }
  });

  it("whose end was cut off is known by an anchor, and without one it is said that nobody could know", async () => {
    const daemon = await startDaemon({ config: anchoredAt() });
    await stopSomebody(daemon);
    await daemon.end("SIGTERM");
    rewrite(daemon.home, ({ number }) => number === 1);
    const { code, verdict } = await verify(daemon.home);
    expect([code, verdict.entries]).toEqual([0, 1]);
    expect(verdict.cannotShow.join(" ")).toContain("No anchor outside the database was compared");

    const anchored = await startDaemon();
    await stopSomebody(anchored);
    await anchored.end("SIGTERM");
    rewrite(anchored.home, ({ number }) => number === 1);
    const found = await verify(anchored.home);
    expect(found.code).toBe(1);
    expect(found.verdict.problems[0].problem).toMatch(/^cut off: file:audit-seals.jsonl holds the seal of line \d+/);
  });
});

describe("an anchor that was away when the daemon was killed", () => {
  it("gets the newest seal from the next one: a file, and a ref of git", async () => {
    const daemon = await startDaemon({ config: anchoredAt("file:elsewhere/seals.jsonl", "git:seals.git") });
    await until("both have failed", async () => (await daemon.events("AUDIT_ANCHOR_FAILED")).length === 2);
    await daemon.end("SIGKILL");
    mkdirSync(join(daemon.home, "elsewhere"));
    execFileSync("git", ["init", "--quiet", "--bare", join(daemon.home, "seals.git")]);
    await startDaemon({ home: daemon.home });
    // Line 1 began the trail, 2 and 3 tell of the anchors, and the next start sealed them.
    const { verdict } = await until("both have the newest seal", async () => {
      const found = await verify(daemon.home);
      const anchors = found.verdict.anchors as AnchorVerdict[];
      return anchors.every(({ newest }) => newest?.number === 4) && found;
    });
    expect(verdict).toMatchObject({ sound: true, anchors: [{ says: "agrees" }, { says: "agrees" }] });
    expect(readSeals(join(daemon.home, "elsewhere", "seals.jsonl")).at(-1)?.number).toBe(4);
  });

  it("gets it by webhook, and its return is told", async () => {
    const port = await freePort();
    const daemon = await startDaemon({ config: anchoredAt(`webhook:http://127.0.0.1:${port}/s3cret-path`) });
    await until("it has failed", async () => (await daemon.events("AUDIT_ANCHOR_FAILED")).length === 1);
    const first = await receive(port);
    const seal = await until("the seal arrives", () => first.seals[0]);
    await until("that is told", async () => (await daemon.events("AUDIT_ANCHOR_RESTORED")).length === 1);
    await first.close();
    await stopSomebody(daemon);
    await daemon.end("SIGKILL");
    const second = await receive(port);
    await startDaemon({ home: daemon.home });
    const newest = await until("the newest arrives", () => second.seals.find(({ number }) => number > seal.number + 1));
    expect(newest.store).toBe(seal.store);
    const secret = readFileSync(join(daemon.home, "webhook-secret"), "utf8").trim();
    for (const { body, signature } of [...first.letters, ...second.letters])
      expect(await verifyWebhook(body, signature, secret, Date.now())).toBe("right");
    expect(JSON.stringify(await daemon.process.ended)).not.toContain("s3cret-path");
  });
});

interface Letter {
  readonly body: string;
  readonly signature: string;
}

async function receive(port: number) {
  const letters: Letter[] = [];
  const seals: AuditSeal[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    letters.push({ body, signature: String(request.headers["rouse-signature"]) });
    seals.push(JSON.parse(body));
    response.writeHead(204).end();
  });
  await listen(server, port);
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  afterwards(close);
  return { letters, seals, close };
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));

async function freePort(): Promise<number> {
  const server = createServer();
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
