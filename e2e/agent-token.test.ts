import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import type { HeartbeatAck, Problem, RouseEvent } from "@rouse/contract";
import { canonicalJson } from "@rouse/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentTokenClaims, mintAgentToken } from "../packages/daemon/src/home/agent-token.ts";
import { afterwards, cleanUp } from "./clean-up.ts";
import { runRouse } from "./run-rouse.ts";
import { type Answered, type Sent, sendBeat, sendRequest } from "./send-request.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

let daemon: Daemon;

beforeAll(async () => {
  // What an agent may see of others where its policy lets it is told in fleet-read.test.ts.
  daemon = await startDaemon({ config: "health_monitoring: { fleet_read: none }\n" });
});

afterAll(async () => {
  await cleanUp();
  expect(daemon.process.stderr()).not.toContain("a mistake in Rouse");
});

/** An agent with nothing but its own token. */
function agentWith(claims: Partial<AgentTokenClaims> & { agentId: string }) {
  const token = mintAgentToken(daemon.token, { taskId: null, incarnation: 1, ...claims });
  const target = { url: daemon.url, token };
  return {
    send: (sent: Sent): Promise<Answered> => sendRequest(target, sent),
    says: (beat: unknown): Promise<Answered> => sendBeat(target, beat),
    asks: (path: string): Promise<Answered> => sendRequest(target, { path }),
    registers: (body: object): Promise<Answered> =>
      sendRequest(target, { path: "/api/v1/agents", body: JSON.stringify(body) }),
  };
}

type Refusal = Extract<RouseEvent, { type: "AGENT_SPEECH_REFUSED" }>["payload"];

async function refusalsOf(agentId: string): Promise<Refusal[]> {
  const events = await daemon.rouse.events({ after: 0, limit: 1000, agentId, types: ["AGENT_SPEECH_REFUSED"] });
  return events.map(({ payload }) => payload as Refusal);
}

/** A refusal is answered at once and saved with the next commit. */
const recorded = (refusal: Refusal): Promise<Refusal> =>
  until(`it is recorded that ${JSON.stringify(refusal)}`, async () =>
    (await refusalsOf(refusal.agentId)).find((one) => JSON.stringify(one) === JSON.stringify(refusal)),
  );

function expectForbidden({ status, json }: Answered, agentId: string): void {
  const { code, detail } = json as Problem;
  expect({ status, code }).toEqual({ status: 403, code: "forbidden" });
  expect(detail).toContain(`speaks only for ${agentId} `);
}

async function expectUnknown(agentId: string): Promise<void> {
  expect((await sendRequest(daemon, { path: `/api/v1/agents/${agentId}` })).status).toBe(404);
}

const acceptedBy = ({ status, json }: Answered) => ({ status, ack: (json as HeartbeatAck).status });
const accepted = { status: 200, ack: "accepted" };

describe("an agent with a token of its own", () => {
  it("beats for itself, with its task or without, one by one and many at once", async () => {
    const agent = agentWith({ agentId: "own", taskId: "fix-42", incarnation: 2 });
    expect(acceptedBy(await agent.says({ agentId: "own", sequenceNumber: 1 }))).toEqual(accepted);
    expect(acceptedBy(await agent.says({ agentId: "own", taskId: "fix-42", sequenceNumber: 2 }))).toEqual(accepted);
    expect(acceptedBy(await agent.says({ agent_id: "own", current_task_id: "fix-42", incarnation: 2 }))).toEqual(
      accepted,
    );
    const byName = { agentName: "own", currentTask: "fix-42", status: "working" };
    expect(acceptedBy(await agent.says(byName))).toEqual(accepted);
    const { json } = await agent.says([{ agentId: "own" }, { agentId: "own", taskId: "fix-42" }]);
    expect((json as { acks: HeartbeatAck[] }).acks.map(({ status }) => status)).toEqual(["accepted", "accepted"]);
    const lines = await agent.send({
      body: '{"agentId":"own"}\n{"agentId":"own"\n',
      headers: { "content-type": "application/x-ndjson" },
    });
    expect((lines.json as { acks: HeartbeatAck[] }).acks.map(({ status }) => status)).toEqual(["accepted", "rejected"]);
    expect(await daemon.rouse.getAgentHealth("own")).toMatchObject({ taskId: "fix-42", incarnation: 2 });
    expect(await refusalsOf("own")).toEqual([]);
  });

  it("announces itself, in the life its token is for", async () => {
    const agent = agentWith({ agentId: "announced", taskId: "t-1", incarnation: 4 });
    for (let again = 0; again < 2; again++) {
      const { status, json } = await agent.registers({ agentId: "announced", taskId: "t-1" });
      expect({ status, json }).toMatchObject({ status: 201, json: { taskId: "t-1", incarnation: 4 } });
      expect(acceptedBy(await agent.says({ agentId: "announced" }))).toEqual(accepted);
    }
    expect((await agent.registers({ agentId: "announced", incarnation: 4 })).status).toBe(201);
  });

  it("reads what is known of it", async () => {
    const agent = agentWith({ agentId: "a:b@c+d" });
    await agent.says({ agentId: "a:b@c+d" });
    for (const id of ["a:b@c+d", "a%3Ab%40c%2Bd"]) {
      for (const report of ["", "/why", "/history?duration=1h", "/heartbeats?limit=5"]) {
        expect((await agent.asks(`/api/v1/agents/${id}${report}`)).status).toBe(200);
      }
    }
    for (const path of ["/livez", "/readyz"]) expect((await agent.asks(path)).status).toBe(200);
  });

  it("is told what is wrong with a malformed beat, as anybody is", async () => {
    const agent = agentWith({ agentId: "clumsy", taskId: "t" });
    for (const beat of [
      null,
      {},
      [[]],
      { agentId: 7 },
      { agentId: "clumsy", taskId: 7 },
      { agentId: "clumsy", incarnation: "1" },
    ]) {
      const { status, text } = await agent.says(beat);
      expect(status).toBe(Array.isArray(beat) ? 200 : 400);
      expect(text).toContain('"malformed"');
    }
    await expectUnknown("clumsy");
  });

  it("may sign its beats", async () => {
    const agent = agentWith({ agentId: "signer", incarnation: 2 });
    const message = { agentId: "signer", tokenCount: 17, unknownField: true };
    const checksum = createHash("sha256").update(canonicalJson(message)).digest("hex");
    expect(acceptedBy(await agent.says({ ...message, checksum }))).toEqual(accepted);
    const forged = await agent.says({ ...message, tokenCount: 18, checksum });
    expect(forged).toMatchObject({ status: 422, json: { because: "wrong-checksum" } });
    expect(await daemon.rouse.getAgentHealth("signer")).toMatchObject({ incarnation: 2, metrics: { tokenCount: 17 } });
  });
});

describe("a token that speaks for somebody else", () => {
  it.each([
    ["in camel case", { agentId: "victim", status: "FINISHED" }],
    ["in snake case", { agent_id: "victim", status: "FINISHED" }],
    ["under both names", { agentId: "victim", agent_id: "liar", status: "FINISHED" }],
    ["by agentName", { agentName: "victim", status: "completed" }],
    ["by agentName, with its own name beside it", { agent_id: "victim", agentName: "liar", status: "FINISHED" }],
    ["by agentName in a batch", [{ agentName: "liar" }, { agentName: "victim", status: "done" }]],
    ["in a batch with its own", [{ agentId: "liar" }, { agentId: "victim", status: "FINISHED" }, { agentId: "liar" }]],
  ])("is refused and recorded %s, and nothing of it is taken", async (_, said) => {
    await sendBeat(daemon, { agentId: "victim", status: "RUNNING" });
    const before = await daemon.rouse.why("victim");
    expectForbidden(await agentWith({ agentId: "liar" }).says(said), "liar");
    await recorded({ agentId: "liar", claimed: "victim", because: "other-agent" });
    const after = await daemon.rouse.why("victim");
    expect(after.beats).toEqual(before.beats);
    expect(after.agent.activity.kind).toBe(before.agent.activity.kind);
    await expectUnknown("liar");
  });

  it("makes nobody known, whether it beats line by line, registers or passes for the monitor", async () => {
    const agent = agentWith({ agentId: "liar" });
    expectForbidden(await agent.says({ agentId: "made-up" }), "liar");
    expectForbidden(await agent.registers({ agentId: "made-up" }), "liar");
    const lines = '{"agentId":"liar"}\nbroken\n{"agentId":"made-up"}\n';
    expectForbidden(await agent.send({ body: lines, headers: { "content-type": "application/x-ndjson" } }), "liar");
    expectForbidden(await agent.says({ agentId: "rouse.canary" }), "liar");
    await expectUnknown("made-up");
    await expectUnknown("liar");
  });

  it("does not get through on a connection that has spoken for the other, or for the operator", async () => {
    const connection = new Agent({ keepAlive: true, maxSockets: 1 });
    const body = '{"agentId":"shared-line"}';
    const owner = agentWith({ agentId: "shared-line" });
    const other = agentWith({ agentId: "intruder" });
    expect((await sendRequest(daemon, { body, connection })).status).toBe(200);
    expect((await owner.send({ body, connection })).status).toBe(200);
    expectForbidden(await other.send({ body, connection }), "intruder");
    expect((await owner.send({ body, connection })).status).toBe(200);
    expect((await sendRequest(daemon, { body, connection })).status).toBe(200);
    connection.destroy();
  });

  it.each([
    ["in camel case", { agentId: "straying", taskId: "deploy" }],
    ["in snake case", { agent_id: "straying", task_id: "deploy" }],
    ["under the older name", { agent_id: "straying", current_task_id: "deploy" }],
    ["as its currentTask", { agentName: "straying", currentTask: "deploy" }],
    [
      "under several names, the last of which counts",
      { agent_id: "straying", task_id: "fix-42", current_task_id: "deploy" },
    ],
  ])("is refused with another task %s", async (_, said) => {
    expectForbidden(await agentWith({ agentId: "straying", taskId: "fix-42" }).says(said), "straying");
    await recorded({ agentId: "straying", claimed: "deploy", because: "other-task" });
    await expectUnknown("straying");
  });

  it("is heard but not with any task when it has none, and with what it took from the queue until that is taken from it", async () => {
    const agent = agentWith({ agentId: "taskless" });
    const works = async (taskId: string | null, name = "taskId") => {
      expect(acceptedBy(await agent.says({ agentId: "taskless", [name]: taskId }))).toEqual(accepted);
      return (await daemon.rouse.getAgentHealth("taskless")).taskId;
    };
    expect((await agent.registers({ agentId: "taskless", taskId: "deploy" })).status).toBe(201);
    expect(await works("deploy")).toBeNull();
    expect(await works(null)).toBeNull();
    await daemon.rouse.createTask({ taskId: "queued" });
    await agent.send({ path: "/api/v1/tasks/queued/claim", body: "{}" });
    expect(await works("queued")).toBe("queued");
    expect(await works("deploy")).toBe("queued");
    await daemon.rouse.cancelTask("queued", { actor: "ann" });
    await works("queued");
    expect(await refusalsOf("taskless")).toEqual([]);
    const saves = { path: "/api/v1/tasks/queued/checkpoints", body: JSON.stringify({ step: 1 }) };
    expectForbidden(await agent.send(saves), "taskless");
  });

  it("is recorded the first, second, fourth and eighth time, in words that any terminal can show", async () => {
    const agent = agentWith({ agentId: "stubborn" });
    const claimed = `\u001b[2J${"x".repeat(500)}`;
    for (let time = 1; time <= 10; time++) expectForbidden(await agent.says({ agentId: claimed }), "stubborn");
    const cut = `\ufffd[2J${"x".repeat(123)}…`;
    expectForbidden(await agent.asks("/api/v1/agents"), "stubborn");
    await recorded({ agentId: "stubborn", claimed: "GET /api/v1/agents", because: "not-allowed" });
    expect(await refusalsOf("stubborn")).toEqual([
      ...Array(4).fill({ agentId: "stubborn", claimed: cut, because: "other-agent" }),
      { agentId: "stubborn", claimed: "GET /api/v1/agents", because: "not-allowed" },
    ]);
  });

  it("shows in `rouse events` and `rouse why`", async () => {
    const agent = agentWith({ agentId: "seen" });
    await agent.says({ agentId: "seen" });
    await agent.says({ agentId: "unseen" });
    await recorded({ agentId: "seen", claimed: "unseen", because: "other-agent" });
    for (const words of [
      ["events", "--agent", "seen"],
      ["why", "seen"],
    ]) {
      const { code, stdout } = await daemon.cli(...words);
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(/AGENT_SPEECH_REFUSED.*other agent: unseen/),
      });
    }
  });
});

describe("what is for the operator alone", () => {
  it.each([
    ["GET", "/api/v1/agents"],
    ["GET", "/api/v1/agents?filter=unhealthy"],
    ["GET", "/api/v1/events"],
    ["GET", "/api/v1/config"],
    ["GET", "/api/v1/openapi.json"],
    ["GET", "/api/health/status"],
    ["GET", "/api/health/agents"],
    ["GET", "/metrics"],
    ["GET", "/"],
    ["GET", "/no/such/path"],
    ["GET", "/api/v1/agents/"],
    ["GET", "/api/v1/agents/curious/"],
    ["GET", "/api/v1/agents/curious/secrets"],
    ["GET", "/api/v1/agents/curious/why/not"],
    ["GET", "/api/v1/agents/curious/../victim"],
    ["GET", "/api/v1/agents/%E0%A4%A"],
    ["HEAD", "/api/v1/agents/curious"],
    ["DELETE", "/api/v1/agents/curious"],
    ["POST", "/api/v1/agents/curious"],
    ["POST", "/api/v1/agents/curious/terminate"],
    ["POST", "/api/v1/agents/curious/recover"],
    ["POST", "/api/v1/freeze"],
    ["POST", "/api/v1/thaw"],
    ["PUT", "/api/v1/heartbeats"],
  ])("is refused to an agent: %s %s", async (method, path) => {
    const agent = agentWith({ agentId: "curious" });
    const answer = await agent.send({ method, path, ...(method === "POST" ? { body: "{}" } : {}) });
    expect(answer.status).toBe(403);
    if (method !== "HEAD") expectForbidden(answer, "curious");
  });

  it("stays as it was: nothing is frozen by an agent", async () => {
    expect((await daemon.rouse.status()).monitor.frozen).toBeNull();
  });

  it.each(["", "/why", "/history", "/heartbeats"])("includes what is known of other agents%s", async (report) => {
    await sendBeat(daemon, { agentId: "private" });
    const agent = agentWith({ agentId: "curious" });
    for (const id of ["private", "%70rivate", "privat%65", "nobody-at-all"]) {
      expectForbidden(await agent.asks(`/api/v1/agents/${id}${report}`), "curious");
    }
    await recorded({ agentId: "curious", claimed: "private", because: "other-agent" });
  });

  it("is open to the operator's token as before", async () => {
    expect(acceptedBy(await sendBeat(daemon, { agentId: "own", incarnation: 9, taskId: "any" }))).toEqual(accepted);
    const paths = [
      "/api/v1/agents",
      "/api/v1/agents/own",
      "/api/v1/events",
      "/metrics",
      "/api/v1/openapi.json",
      "/readyz",
    ];
    for (const path of paths) expect((await sendRequest(daemon, { path })).status).toBe(200);
    for (const path of ["/api/v1/freeze", "/api/v1/thaw"])
      expect((await sendRequest(daemon, { path, body: "{}" })).status).toBe(200);
  });
});

describe("an order typed inside an agent", () => {
  const inside = (...words: string[]) => {
    const ROUSE_TOKEN = mintAgentToken(daemon.token, { agentId: "insider", taskId: null, incarnation: 1 });
    const environment = { ROUSE_AGENT_ID: "insider", ROUSE_URL: daemon.url, ROUSE_TOKEN };
    return runRouse(words, { home: daemon.home, environment });
  };
  const tokensKept = () => [
    readFileSync(join(daemon.home, "token"), "utf8"),
    ...readdirSync(join(daemon.home, "tokens")),
  ];

  it.each([
    "terminate victim",
    "recover victim",
    "recover --task any",
    "nudge victim",
    "escalate victim --reason odd",
    "escalations decide victim.1 terminate_and_recover",
    "escalations ack victim.1",
    "freeze",
    "thaw",
    "tasks add any",
    "tasks cancel any",
    "tasks reassign any",
    "tasks block any",
    "tasks unblock any",
    "tasks retry any",
    "tasks trust victim",
  ])("is refused, and a person who sits there is told what to do: %s", async (words) => {
    const { code, stdout, stderr } = await inside(...words.split(" "));
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toMatch(/^rouse: this token speaks only for insider .*\n.*`unset ROUSE_URL ROUSE_TOKEN`.*\n$/);
  });

  it.each([
    "token create --role owner --name mine",
    "token revoke planner",
    "token rotate",
    "attach victim",
    "attach insider",
  ])("is refused although no daemon is asked for it: %s", async (words) => {
    await daemon.cli("token", "create", "--role", "orchestrator", "--name", "planner");
    const before = tokensKept();
    const { code, stdout, stderr } = await inside(...words.split(" "));
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toMatch(/^rouse: .*the token here is an agent's.*\n.*`unset ROUSE_URL ROUSE_TOKEN`.*\n$/);
    expect(tokensKept()).toEqual(before);
  });

  it("is on record as that agent's", async () => {
    const claimed = "POST /api/v1/agents/victim/terminate";
    await recorded({ agentId: "insider", claimed, because: "not-allowed" });
    expect((await daemon.cli("audit", "list")).stdout).not.toContain("order-stop");
  });
});

describe("a token of an earlier life", () => {
  it("is refused once a later life has begun, whether it says which life it is or not", async () => {
    const [first, second] = [1, 2].map((incarnation) => agentWith({ agentId: "reborn", incarnation }));
    expect(acceptedBy((await first?.says({ agentId: "reborn", sequenceNumber: 1 })) as Answered)).toEqual(accepted);
    expect(acceptedBy((await second?.says({ agentId: "reborn", sequenceNumber: 1 })) as Answered)).toEqual(accepted);
    for (const said of [{}, { incarnation: 1 }, { sequenceNumber: 99, status: "FINISHED" }]) {
      const answer = await first?.says({ agentId: "reborn", ...said });
      expect(answer).toMatchObject({ status: 409, json: { status: "rejected", because: "old-incarnation" } });
    }
    expect((await first?.registers({ agentId: "reborn" }))?.status).toBe(400);
    const { agent, beats } = await daemon.rouse.why("reborn");
    expect(agent).toMatchObject({ incarnation: 2, activity: { kind: expect.not.stringMatching("FINISHED") } });
    expect(beats).toMatchObject({ accepted: 1 });
  });

  it.each([1, 3])("cannot pass for life %d, nor can one of a later life", async (incarnation) => {
    const agent = agentWith({ agentId: "mortal", incarnation: 2 });
    expectForbidden(await agent.says({ agentId: "mortal", incarnation }), "mortal");
    expectForbidden(await agent.says({ agent_id: "mortal", incarnation }), "mortal");
    expectForbidden(await agent.registers({ agentId: "mortal", incarnation }), "mortal");
    await recorded({ agentId: "mortal", claimed: String(incarnation), because: "other-life" });
    await expectUnknown("mortal");
  });

  it("is named in what is kept of a beat that did not name it", async () => {
    const agent = agentWith({ agentId: "kept", taskId: "t", incarnation: 5 });
    await agent.says({ agentId: "kept", sequenceNumber: 1 });
    await agent.says({ agent_id: "kept", task_id: "t", sequence_number: 2, progress_indicator: "half" });
    const { json } = await agent.asks("/api/v1/agents/kept/heartbeats");
    expect((json as { heartbeats: unknown[] }).heartbeats).toMatchObject([
      { agentId: "kept", taskId: "t", sequenceNumber: 2, progressIndicator: "half", incarnation: 5 },
      { agentId: "kept", sequenceNumber: 1, incarnation: 5 },
    ]);
  });
});

describe("a token that is none of ours", () => {
  it.each([
    [
      "made with another master token",
      (own: string) => mintAgentToken(`${own}x`, { agentId: "own", taskId: null, incarnation: 1 }),
    ],
    ["with its claims exchanged", (own: string) => exchangeClaims(own)],
    ["cut short", (own: string) => mintAgentToken(own, { agentId: "own", taskId: null, incarnation: 1 }).slice(0, -1)],
    ["signed with nothing", () => "rouse-agent.e30."],
  ])("is not let in: %s", async (_, make) => {
    const target = { url: daemon.url, token: make(daemon.token) };
    for (const path of ["/api/v1/agents/own", "/readyz", "/metrics"]) {
      const { status, json } = await sendRequest(target, { path });
      expect({ status, code: (json as Problem).code }).toEqual({ status: 401, code: "unauthorized" });
    }
    expect((await sendBeat(target, { agentId: "own" })).status).toBe(401);
  });
});

it("a token of an agent that was removed speaks for no agent of its name, also after a restart", async () => {
  const { rouse } = daemon;
  const [first, seventh] = [1, 7].map((incarnation) => agentWith({ agentId: "twin", incarnation }));
  expect((await seventh?.says({ agentId: "twin", status: "FINISHED" }))?.status).toBe(200);
  await rouse.removeAgent("twin");
  expect((await seventh?.says({ agentId: "twin" }))?.status).toBe(409);
  expect((await seventh?.registers({ agentId: "twin" }))?.status).toBe(403);
  expect(await rouse.registerAgent({ agentId: "twin" })).toMatchObject({ incarnation: 8 });
  for (const former of [first, seventh])
    expect((await former?.says({ agentId: "twin", status: "FAILED" }))?.status).toBe(409);
  const steps = JSON.stringify([{ kind: "tool_call", tool: "Bash" }]);
  expect((await seventh?.send({ path: "/api/v1/agents/twin/steps", body: steps }))?.status).toBe(403);
  await rouse.recordHeartbeat({ agentId: "twin", status: "FINISHED" });
  await rouse.removeAgent("twin");
  await daemon.end("SIGKILL");
  daemon = await startDaemon({ home: daemon.home });
  expect((await agentWith({ agentId: "twin", incarnation: 8 }).says({ agentId: "twin" })).status).toBe(409);
});

function exchangeClaims(master: string): string {
  const [own = "", other = ""] = ["own", "other"].map((agentId) =>
    mintAgentToken(master, { agentId, taskId: null, incarnation: 1 }),
  );
  return [...own.split(".").slice(0, 2), other.split(".")[2]].join(".");
}

describe("an agent that announces large checkpoints and does not send them", () => {
  it("keeps nobody else from saving theirs", async () => {
    const token = mintAgentToken(daemon.token, { agentId: "dawdler", taskId: "dawdled", incarnation: 1 });
    let refused = 0;
    for (let n = 0; n < 4; n++) {
      const headers = { authorization: `Bearer ${token}`, "content-length": 17 * 1024 * 1024 };
      const url = `${daemon.url}/api/v1/tasks/dawdled/checkpoints`;
      const begun = request(url, { method: "POST", headers, agent: false }).on("error", () => undefined);
      begun.on("response", ({ statusCode }) => {
        if (statusCode === 503) refused += 1;
      });
      begun.flushHeaders();
      afterwards(() => void begun.destroy());
    }
    await until("all but one of them are refused", () => refused === 3 || undefined);
    const worker = agentWith({ agentId: "steady", taskId: "steadily" });
    const save = (state: unknown) =>
      worker.send({ path: "/api/v1/tasks/steadily/checkpoints", body: JSON.stringify({ step: 1, state }) });
    expect((await save("small")).status).toBe(201);
    expect((await save("x".repeat(1_000_000))).status).toBe(201);
  });
});
