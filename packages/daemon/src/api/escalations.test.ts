import { createHmac } from "node:crypto";
import { EscalationList, EscalationNotice, minutes } from "@rouse/contract";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type EscalationDesk, escalationDesk } from "../escalations/escalation-desk.test-support.ts";
import { escalationRoutes } from "./escalations.ts";
import type { Speaker } from "./guard.ts";
import { serveTable } from "./serve-table.test-support.ts";

const secret = "s3cret-s3cret-s3cret";

let desk: EscalationDesk;
let app: FastifyInstance;
const planner: Speaker = { kind: "orchestrator", name: "planner" };
const owner: Speaker = { kind: "owner", name: "planner" };
let speaker: Speaker;
let badSignatures: string[] = [];

beforeEach(async () => {
  desk = await escalationDesk();
  speaker = planner;
  badSignatures = [];
  const table = escalationRoutes(desk.escalations, {
    secret,
    now: desk.now,
    noteBadSignature: (escalation, because) => badSignatures.push(`${escalation} ${because}`),
  });
  app = serveTable(table, { speakerOf: () => speaker });
});

afterEach(() => app.close());

async function get(url: string) {
  const { statusCode, payload } = await app.inject({ method: "GET", url });
  return { status: statusCode, json: JSON.parse(payload) };
}

async function post(url: string, body?: unknown, headers: Record<string, string> = {}) {
  const payload = body === undefined ? {} : { payload: typeof body === "string" ? body : JSON.stringify(body) };
  const sent = {
    method: "POST" as const,
    url,
    headers: { "content-type": "application/json", ...headers },
    ...payload,
  };
  const answer = await app.inject(sent);
  return { status: answer.statusCode, json: JSON.parse(answer.payload) };
}

function sign(id: string, body: string, at = desk.now(), by = secret): Record<string, string> {
  const stamp = Math.floor(at / 1000);
  const signature = createHmac("sha256", by).update(`${stamp}.${id}.${body}`).digest("hex");
  return { "rouse-signature": `t=${stamp},v1=${signature}` };
}

async function askAbout(agentId: string): Promise<string> {
  desk.beat(agentId);
  return (await desk.escalations.escalate(agentId, "ada", "")).escalation;
}

/** Such as it is left to itself for an hour. */
function getStuck(...agents: string[]): string {
  for (const agentId of agents) {
    desk.beat(agentId, { progressIndicator: "a" });
    desk.beat(agentId, { progressIndicator: "b" });
  }
  desk.passesFor(agents, minutes(60), { progressIndicator: "b" });
  return `${agents[0]}.1`;
}

const decisionOf = (id: string) => `/api/v1/escalations/${id}/decision`;

describe("open escalations", () => {
  it("are listed, all or those of one agent, under the long and the short path", async () => {
    await askAbout("worker-1");
    await askAbout("team.worker:2");
    for (const path of ["/api/v1/escalations", "/escalations"]) {
      const { status, json } = await get(path);
      expect(status).toBe(200);
      expect(EscalationList.parse(json).escalations.map(({ id }) => id)).toEqual(["worker-1.1", "team.worker:2.1"]);
    }
    const { json } = await get("/api/v1/escalations?agentId=team.worker%3A2");
    expect(json.escalations.map(({ id }: { id: string }) => id)).toEqual(["team.worker:2.1"]);
    expect((await get("/api/v1/escalations?agentId=nobody")).json).toEqual({ escalations: [], next: null });
  });

  it("are told page by page, also when one of them is answered meanwhile", async () => {
    for (const agentId of ["a", "b", "c"]) await askAbout(agentId);
    const first = (await get("/api/v1/escalations?limit=1")).json;
    const second = (await get(`/api/v1/escalations?limit=1&cursor=${encodeURIComponent(first.next)}`)).json;
    expect([first, second].map(({ escalations }) => escalations[0].id)).toEqual(["a.1", "b.1"]);
    await post(decisionOf("b.1"), { decision: "allow_more_time" });
    const rest = (await get(`/api/v1/escalations?cursor=${encodeURIComponent(second.next)}`)).json;
    expect(rest.escalations.map(({ id }: { id: string }) => id)).toContain("c.1");
    expect(rest.next).toBeNull();
    expect((await get("/api/v1/escalations?cursor=x")).status).toBe(400);
  });

  it("are told one by one with all that is known", async () => {
    const id = await askAbout("team.worker:2");
    const { status, json } = await get(`/api/v1/escalations/${encodeURIComponent(id)}`);
    expect(status).toBe(200);
    expect(EscalationNotice.parse(json)).toEqual(await desk.notice(id));
  });

  it("that never were are unknown", async () => {
    await askAbout("worker-1");
    for (const id of [
      "worker-1.2",
      "worker-1.0",
      "worker-2.1",
      "worker-1",
      "a%2fb.1",
      "worker-1.1%0a",
      "x".repeat(90),
    ]) {
      expect(await get(`/api/v1/escalations/${id}`), id).toMatchObject({
        status: 404,
        json: { code: "escalation-unknown" },
      });
      expect(await post(decisionOf(id), { decision: "force_handoff" }), id).toMatchObject({ status: 404 });
      expect(await post(`/api/v1/escalations/${id}/acknowledge`), id).toMatchObject({ status: 404 });
    }
  });
});

describe("a decision", () => {
  it("is taken in, once, by either path", async () => {
    getStuck("worker-1", "worker-2");
    for (const path of [decisionOf("worker-1.1"), "/escalations/worker-2.1/decision"]) {
      const sent = { decision: "allow_more_time", actor: "planner", reason: "a long build", minutes: 30 };
      expect(await post(path, sent)).toEqual({
        status: 200,
        json: { escalation: expect.stringMatching(/^worker-\d\.1$/), outcome: "taken" },
      });
    }
    expect(desk.record("worker-2").ladder.incident?.stage).toMatchObject({ kind: "more-time" });
    expect(desk.events.filter(({ type }) => type === "ESCALATION_DECIDED")).toHaveLength(2);
  });

  it("that comes second is told who was first and what they decided", async () => {
    const id = getStuck("worker-1");
    await post(decisionOf(id), { decision: "allow_more_time", actor: "ada", reason: "long build" });
    const second = await post(decisionOf(id), { decision: "terminate_and_recover", actor: "bob" });
    expect(second).toMatchObject({
      status: 409,
      json: {
        code: "escalation-closed",
        detail: `worker-1.1 was decided at 2026-02-05T10:00:00.000Z: allow_more_time, by orchestrator:planner (long build)`,
        ended: { how: "decided", decision: "allow_more_time", actor: "orchestrator:planner" },
      },
    });
    expect(desk.events.filter(({ type }) => type === "ESCALATION_DECIDED")).toHaveLength(1);
    expect(await get(`/api/v1/escalations/${id}`)).toMatchObject({
      status: 409,
      json: { ended: { actor: "orchestrator:planner" } },
    });
    expect(await post(`/api/v1/escalations/${id}/acknowledge`)).toMatchObject({ status: 409 });
  });

  it("is one of two when two come at the same time", async () => {
    const id = getStuck("worker-1");
    const both = await Promise.all([
      post(decisionOf(id), { decision: "allow_more_time", actor: "ada" }),
      post(decisionOf(id), { decision: "terminate_and_recover", actor: "bob" }),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(desk.events.filter(({ type }) => type === "ESCALATION_DECIDED")).toHaveLength(1);
  });

  it("that comes too late changes nothing and says so", async () => {
    const late = getStuck("worker-1");
    desk.passesFor("worker-1", minutes(20), { progressIndicator: "b" });
    await desk.saved();
    const before = desk.events.length;
    expect(await post(decisionOf(late), { decision: "allow_more_time" })).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining("nobody answered for 900 s"), ended: { how: "unanswered" } },
    });
    expect(desk.events).toHaveLength(before);
  });

  it("for an incident that is over says how it ended", async () => {
    const id = getStuck("worker-1");
    desk.beat("worker-1", { progressIndicator: "something new" });
    expect(await post(decisionOf(id), { decision: "terminate_and_recover" })).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining("recovered (well-again)") },
    });
  });

  it("brings nobody else's control characters into the sentence", async () => {
    const id = getStuck("worker-1");
    await post(decisionOf(id), { decision: "allow_more_time", actor: "\u001b[2Jada", reason: "a\nb" });
    const { json } = await post(decisionOf(id), { decision: "allow_more_time" });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(json.detail).not.toMatch(/[\u0000-\u001f]/);
  });

  it.each<[string, unknown, RegExp]>([
    ["without a body", undefined, /decision/],
    ["of a kind that is not there", { decision: "kill" }, /decision: .*allow_more_time/],
    ["with a word too many", { decision: "force_handoff", force: true }, /force/],
    ["that is no JSON", "{", /not valid JSON/],
    ["of no time", { decision: "allow_more_time", minutes: 0 }, /minutes/],
  ])("%s is refused and nothing happens", async (_, body, message) => {
    const id = getStuck("worker-1");
    expect(await post(decisionOf(id), body)).toMatchObject({
      status: 400,
      json: { code: "bad-request", detail: expect.stringMatching(message) },
    });
    expect(await desk.notice(id)).not.toBeNull();
  });
});

describe("a decision with a signature", () => {
  const body = '{ "decision": "allow_more_time", "reason": "größer" }';

  it("is taken in when it is signed as it was sent", async () => {
    const id = getStuck("worker-1");
    expect(await post(decisionOf(id), body, sign(id, body))).toMatchObject({ status: 200 });
    expect(badSignatures).toEqual([]);
  });

  it.each<[string, () => Record<string, string>]>([
    ["wrong", () => sign("worker-1.1", `${body} `)],
    ["wrong", () => sign("worker-2.1", body)],
    ["wrong", () => sign("worker-1.1", body, desk.now(), "somebody-elses-secret")],
    ["too-old", () => sign("worker-1.1", body, desk.now() - minutes(6))],
    ["malformed", () => ({ "rouse-signature": "sha256=0" })],
    ["malformed", () => ({ "rouse-signature": "" })],
  ])("that is %s is refused with 401, noted, and decides nothing", async (because, headers) => {
    const id = getStuck("worker-1");
    expect(await post(decisionOf(id), body, headers())).toMatchObject({
      status: 401,
      json: { code: "unauthorized", detail: expect.stringContaining("Rouse-Signature") },
    });
    expect(await post(`/escalations/${id}/decision`, body, headers())).toMatchObject({ status: 401 });
    expect(badSignatures).toEqual([`${id} ${because}`, `${id} ${because}`]);
    expect(await desk.notice(id)).not.toBeNull();
  });
});

describe("a decision that was signed for one question", () => {
  it("decides no other one", async () => {
    getStuck("worker-1", "worker-2");
    const body = '{"decision":"terminate_and_recover"}';
    const headers = sign("worker-1.1", body);
    expect(await post(decisionOf("worker-2.1"), body, headers)).toMatchObject({ status: 401 });
    expect(await post(decisionOf("worker-1.1"), body, headers)).toMatchObject({ status: 200 });
    expect(await desk.notice("worker-2.1")).not.toBeNull();
    expect(badSignatures).toEqual(["worker-2.1 wrong"]);
  });
});

describe("an acknowledgement", () => {
  it("is noted under who authenticated, and the question stays open", async () => {
    const id = await askAbout("worker-1");
    expect(await post(`/api/v1/escalations/${id}/acknowledge`, { actor: "ada" })).toEqual({
      status: 200,
      json: { escalation: id, outcome: "taken" },
    });
    const { acknowledged } = (await get(`/api/v1/escalations/${id}`)).json;
    expect(acknowledged).toMatchObject({ actor: "orchestrator:planner" });
    expect(await post(`/api/v1/escalations/${id}/acknowledge`, { actor: "bob" })).toMatchObject({ status: 200 });
    expect((await get(`/api/v1/escalations/${id}`)).json).toMatchObject({ acknowledged });
  });
});

describe("words to and about an agent", () => {
  it("are a nudge in a person's words, or the reminder", async () => {
    desk.beat("worker-1");
    expect(
      await post("/api/v1/agents/worker-1/nudge", { message: "look at the failing test", actor: "ada" }),
    ).toMatchObject({
      status: 200,
      json: { agentId: "worker-1", state: "queued", channel: "acknowledgement", message: "look at the failing test" },
    });
    expect((await post("/api/v1/agents/worker-1/nudge")).json.message).toMatch(/^look at the failing test\n\nREMINDER/);
    for (const message of ["", "x".repeat(2001), 7])
      expect(await post("/api/v1/agents/worker-1/nudge", { message })).toMatchObject({ status: 400 });
    expect(await post("/api/v1/agents/nobody/nudge")).toMatchObject({ status: 404 });
  });

  it("are a question to the orchestrator", async () => {
    speaker = owner;
    desk.beat("worker-1");
    expect(await post("/api/v1/agents/worker-1/escalate", { reason: "it looks odd", actor: "ada" })).toEqual({
      status: 200,
      json: { agentId: "worker-1", escalation: "worker-1.1", severity: "SEV-3", answerBy: "2026-02-05T09:15:00.000Z" },
    });
    expect(await post("/api/v1/agents/nobody/escalate")).toMatchObject({ status: 404 });
  });

  it("are the agent's own answer, of the life its token is for", async () => {
    speaker = owner;
    desk.beat("worker-1");
    expect(await post("/api/v1/agents/worker-1/answers", { kind: "blocker", text: "no database" })).toEqual({
      status: 200,
      json: { agentId: "worker-1", status: "accepted" },
    });
    speaker = { kind: "agent", agentId: "worker-1", taskId: null, incarnation: 4 };
    expect(await post("/api/v1/agents/worker-1/answers", { kind: "update" })).toMatchObject({ status: 403 });
    speaker = { ...speaker, incarnation: 1 };
    expect(await post("/api/v1/agents/worker-1/answers", { kind: "update" })).toMatchObject({ status: 200 });
    expect(desk.escalations.escalations()).toMatchObject([{ reason: "blocker-reported" }]);
    for (const answer of [{}, { kind: "no" }, { kind: "update", text: "x".repeat(1001) }])
      expect(await post("/api/v1/agents/worker-1/answers", answer)).toMatchObject({ status: 400 });
  });
});
