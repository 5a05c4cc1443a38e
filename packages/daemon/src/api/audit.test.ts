import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { keepAuditTrail } from "../audit/audit-trail.ts";
import { readAuditOf } from "../audit/read-audit.ts";
import type { RefusedSpeaker } from "../monitor.ts";
import { type AuditPlace, emptyCommit } from "../ports/store.ts";
import { auditRoutes } from "./audit.ts";
import type { Speaker } from "./guard.ts";
import { ownerSpeaks, serveTable } from "./serve-table.test-support.ts";

let app: FastifyInstance;
let speaker: Speaker;
let refused: RefusedSpeaker[];

beforeEach(async () => {
  const store = await openMemoryStore();
  speaker = ownerSpeaks;
  refused = [];
  let end: AuditPlace | null = null;
  const trail = keepAuditTrail({ last: null, store: "store-1", isSealed: true, sign: () => "signed" });
  for (let n = 1; n <= 120; n++) {
    const subject = n % 2 === 0 ? "even" : null;
    const line = trail.append({
      time: n,
      actor: "rouse",
      action: "nudge-sent",
      subject,
      reason: "",
      evidence: {},
      policy: null,
    });
    await store.commit({ ...emptyCommit, audit: [line] });
    end = line;
  }
  const audit = readAuditOf({
    store,
    signing: { publicKey: "the public key", sign: (text) => `signed: ${text}` },
    storeId: "store-1",
    end: () => end,
    anchors: () => ["file:seals"],
    readClock: () => ({ time: 0 }),
  });
  app = serveTable(auditRoutes(audit), { speakerOf: () => speaker, refused });
});
afterEach(() => app.close());

async function ask(query: string) {
  const response = await app.inject(`/api/v1/audit${query}`);
  const { entries = [] } = response.json() as { entries?: { number: number }[] };
  return { status: response.statusCode, numbers: entries.map(({ number }) => number), body: response.body };
}

describe("GET /api/v1/audit", () => {
  it("gives the newest lines, in their order", async () => {
    const { numbers } = await ask("");
    expect([numbers.length, numbers[0], numbers.at(-1)]).toEqual([100, 21, 120]);
    expect((await ask("?limit=3")).numbers).toEqual([118, 119, 120]);
  });

  it("goes on page by page from any line", async () => {
    expect((await ask("?after=0&limit=2")).numbers).toEqual([1, 2]);
    expect((await ask("?after=2&limit=3")).numbers).toEqual([3, 4, 5]);
    expect((await ask("?after=120&limit=3")).numbers).toEqual([]);
  });

  it("gives the lines about one agent only", async () => {
    expect((await ask("?agentId=even&limit=2")).numbers).toEqual([118, 120]);
    expect((await ask("?agentId=even&after=0&limit=2")).numbers).toEqual([2, 4]);
    expect((await ask("?agentId=nobody")).numbers).toEqual([]);
  });

  it.each(["?limit=0", "?limit=1001", "?limit=x", "?after=-1", "?after=x", "?after=", "?after=1.5"])(
    "refuses %s, and says what it takes",
    async (query) => {
      const { status, body } = await ask(query);
      expect(status).toBe(400);
      expect(body).toMatch(/limit: a whole number|after: the number of a line/);
    },
  );
});

describe("GET /api/v1/audit/head", () => {
  it("tells where the trail ends, signed with the time, where its seals are kept, and whose signature to expect", async () => {
    const head = (await app.inject("/api/v1/audit/head")).json() as { head: { hash: string } };
    const time = "1970-01-01T00:00:00.000Z";
    expect(head).toEqual({
      store: "store-1",
      head: { number: 120, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      told: { time, signature: `signed: rouse audit head store-1 120 ${head.head.hash} ${time}` },
      removed: null,
      anchors: ["file:seals"],
      publicKey: "the public key",
    });
  });
});

describe("an agent's own token", () => {
  it.each(["/api/v1/audit", "/api/v1/audit?agentId=worker-1", "/api/v1/audit/head"])(
    "opens nothing at %s",
    async (url) => {
      speaker = { kind: "agent", agentId: "worker-1", taskId: null, incarnation: 1 };
      expect((await app.inject(url)).statusCode).toBe(403);
      expect(refused).toMatchObject([{ agentId: "worker-1", because: "not-allowed" }]);
    },
  );
});
