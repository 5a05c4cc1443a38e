import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { HeartbeatAck, Problem } from "@rouse/contract";
import { canonicalJson } from "@rouse/contract";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { cleanUp } from "./clean-up.ts";
import { type Answered, type Sent, sendBeat, sendRequest } from "./send-request.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
  await accepted({ agentId: "bystander", status: "RUNNING", sequenceNumber: 1 });
});

/** Whatever was sent: the daemon is up, and nobody's health changed because of it. */
afterEach(async () => {
  const { status, json } = await sendRequest(daemon, { path: "/livez", headers: { authorization: null } });
  expect({ status, json }).toEqual({ status: 200, json: { status: "ok" } });
  expect(await daemon.events("HEALTH_STATE_CHANGED")).toEqual([]);
  expect(await daemon.rouse.getAgentHealth("bystander")).toMatchObject({ state: "HEALTHY", stateReason: "registered" });
});

afterAll(async () => {
  await cleanUp();
  expect(daemon.process.stderr()).not.toContain("a mistake in Rouse");
});

/** No answer, whatever it is, lets a page of another site read it. */
async function send(sent: Sent): Promise<Answered> {
  const answer = await sendRequest(daemon, sent);
  expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  return answer;
}

async function refusal(sent: Sent): Promise<{ status: number; code: string }> {
  const { status, json } = await send(sent);
  const { code, detail } = json as Problem;
  expect(detail).toMatch(/\w+ \w+/);
  return { status, code };
}

async function accepted(beat: Record<string, unknown>): Promise<void> {
  const { status, json } = await sendBeat(daemon, beat);
  expect({ status, ack: (json as HeartbeatAck).status }).toEqual({ status: 200, ack: "accepted" });
}

const beat = (agentId: string, more: object = {}): string => JSON.stringify({ agentId, ...more });

describe("a body that is not a heartbeat", () => {
  it.each([
    ["is cut off", '{"agentId":"a","status":"RUN'],
    ["is empty", ""],
    ["is not JSON", "agentId=a"],
    ["has a byte order mark", '\ufeff{"agentId":"a"}'],
    ["is nested 50 levels deep", `{"agentId":"a","x":${"[".repeat(50)}${"]".repeat(50)}}`],
    ["is nested 100,000 levels deep", "[".repeat(100_000)],
    ["is compressed, which nobody offered", Buffer.from("1f8b0800", "hex")],
  ])("is refused with a reason when it %s", async (_, body) => {
    expect(await refusal({ body })).toEqual({ status: 400, code: "bad-request" });
  });

  it.each([
    ["null", "null"],
    ["a number", "42"],
    ["a text", '"agent"'],
    ["an object without an id", "{}"],
    ["an id that is a number", '{"agentId":7}'],
    ["an id in the prototype only", '{"__proto__":{"agentId":"sneaky"}}'],
    ["a status nobody knows", beat("typed", { status: "DANCING" })],
    ["a fraction as its number", beat("typed", { sequenceNumber: 1.5 })],
    ["a negative number", beat("typed", { sequenceNumber: -1 })],
    ["a text as a count", beat("typed", { tokenCount: "many" })],
    ["a number too large to be one", '{"agentId":"typed","tokenCount":1e999}'],
    ["a list as its metrics", beat("typed", { healthMetrics: [1] })],
    ["a progress of 2,000 characters", beat("typed", { progressIndicator: "x".repeat(2000) })],
    ["a time that is none", beat("typed", { timestamp: "yesterday-ish" })],
  ])("is answered as a malformed beat when it is or has %s", async (_, body) => {
    const { status, json } = await send({ body });
    expect(status).toBe(400);
    expect(json).toMatchObject({ status: "rejected", because: "malformed", problem: expect.stringMatching(/\w/) });
    expect(await refusal({ path: "/api/v1/agents/typed" })).toEqual({ status: 404, code: "agent-unknown" });
  });

  it.each([
    ["control characters", "a\u0000b"],
    ["an escape sequence", "\u001b[2J"],
    ["a line end", "a\nb"],
    ["a slash", "../../etc/passwd"],
    ["a space", "a b"],
    ["a look-alike letter", "wоrker"],
    ["a leading dot", ".hidden"],
    ["129 characters", "a".repeat(129)],
    ["nothing", ""],
    ["__proto__", "__proto__"],
  ])("is refused when the id has or is %s", async (_, agentId) => {
    const { status, json, text } = await send({ body: beat(agentId) });
    expect(status).toBe(400);
    expect(json).toMatchObject({ because: "malformed" });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may come back
    expect(text).not.toMatch(/[\u0000-\u001f]|\\u00[01]/);
    const registered = await send({ path: "/api/v1/agents", body: beat(agentId) });
    expect(registered.status).toBe(400);
  });

  it("is refused unread when it says it is larger than 4 MiB", async () => {
    const answer = await sendRaw([`content-length: ${5 * 1024 * 1024}`], "");
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('"body-too-large"');
  });

  it("is refused as soon as it turns out to be larger than 4 MiB", async () => {
    const size = 4 * 1024 * 1024 + 1;
    const answer = await sendRaw(
      ["transfer-encoding: chunked"],
      `${size.toString(16)}\r\n${"x".repeat(size)}\r\n0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("is refused when it has more than 10,000 beats", async () => {
    const body = JSON.stringify(Array.from({ length: 10_001 }, () => ({ agentId: "crowd" })));
    expect(await refusal({ body })).toEqual({ status: 413, code: "body-too-large" });
    expect(await refusal({ path: "/api/v1/agents/crowd" })).toEqual({ status: 404, code: "agent-unknown" });
  });

  it("harms nobody when its sender hangs up in the middle", async () => {
    const socket = connect(Number(new URL(daemon.url).port), "127.0.0.1");
    await once(socket, "connect");
    socket.write(head(["content-length: 1000"]));
    socket.write('{"agentId":"half');
    socket.destroy();
    await once(socket, "close");
    await accepted({ agentId: "after-the-half" });
  });

  it("that is not HTTP at all is refused", async () => {
    const socket = connect(Number(new URL(daemon.url).port), "127.0.0.1");
    socket.end("\u0016\u0003\u0001 this is not HTTP\r\n\r\n");
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("a list of beats", () => {
  it("may be empty", async () => {
    expect(await send({ body: "[]" })).toMatchObject({ status: 200, json: { acks: [] } });
  });

  it("is answered beat by beat, and a bad one spoils none of the others", async () => {
    const list = [{ agentId: "list-1" }, { agentId: "bad id" }, null, [], { agentId: "list-2" }];
    const { json } = await send({ body: JSON.stringify(list) });
    expect((json as { acks: HeartbeatAck[] }).acks.map(({ status }) => status)).toEqual([
      "accepted",
      "rejected",
      "rejected",
      "rejected",
      "accepted",
    ]);
  });

  it("may have one beat per line, and a broken line spoils none of the others", async () => {
    const body = `${beat("line-1")}\n{"agentId":"line-2"\n\n${beat("line-3")}\n`;
    const { json } = await send({ body, headers: { "content-type": "application/x-ndjson" } });
    expect((json as { acks: HeartbeatAck[] }).acks.map(({ agentId, status }) => [agentId, status])).toEqual([
      ["line-1", "accepted"],
      ["", "rejected"],
      ["line-3", "accepted"],
    ]);
  });
});

describe("a beat that is odd but can be understood", () => {
  it("is accepted without a Content-Type", async () => {
    const { status } = await send({ body: beat("typeless"), headers: { "content-type": null } });
    expect(status).toBe(200);
  });

  it.each([
    ["before clocks", "1970-01-01T00:00:00Z"],
    ["ten years ago", "2016-02-05T10:30:00Z"],
    ["a century ahead", "2126-02-05T10:30:00+14:00"],
    ["at the end of time", "+275760-09-13T00:00:00.000Z"],
  ])("is refused when its clock stands %s and stood right before: it is not of now", async (when, timestamp) => {
    const agentId = `clock-${when.replaceAll(" ", "-")}`;
    expect((await send({ body: beat(agentId, { timestamp: new Date().toISOString() }) })).status).toBe(200);
    const { status, json } = await send({ body: beat(agentId, { timestamp }) });
    expect({ status, json }).toMatchObject({ status: 422, json: { status: "rejected", because: "absurd-time" } });
  });

  it("is accepted from an agent whose clock was never right", async () => {
    for (const timestamp of ["1970-01-01T00:00:05Z", "1970-01-01T00:00:10Z"])
      expect((await send({ body: beat("no-clock", { timestamp }) })).status).toBe(200);
  });

  it.each([-29 * 24, -12, 5, 29 * 24])(
    "is accepted when its clock is %i hours off, and its health does not depend on it",
    async (hours) => {
      const agentId = `clock-${hours}`;
      await accepted({ agentId, timestamp: new Date(Date.now() + hours * 3_600_000).toISOString() });
      expect(await daemon.rouse.getAgentHealth(agentId)).toMatchObject({ state: "HEALTHY" });
      expect((await daemon.rouse.why(agentId)).clocks.silentSeconds).toBeLessThan(60);
    },
  );

  it("may announce a wait that never ends without spoiling the list of agents", async () => {
    await accepted({
      agentId: "patient",
      status: "WAITING",
      waitingFor: "schedule",
      waitingUntil: "+275760-09-13T00:00:00.000Z",
    });
    const waiting = (await daemon.rouse.getAllAgentHealth()).find(({ agentId }) => agentId === "patient");
    expect(waiting?.activity).toMatchObject({ kind: "WAITING", until: expect.any(String) });
  });

  it("may have keys that mean something to JavaScript", async () => {
    const body = '{"agentId":"constructor","__proto__":{"polluted":1},"healthMetrics":{"__proto__":1,"toString":2}}';
    expect((await send({ body })).status).toBe(200);
    expect((await daemon.rouse.getLastHeartbeat("constructor"))?.healthMetrics).toEqual({ toString: 2 });
    expect((await daemon.rouse.why("constructor")).agent.state).toBe("HEALTHY");
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe("the number of a beat", () => {
  it("that was there before makes it a duplicate, one that goes back makes it stale", async () => {
    await accepted({ agentId: "counter", sequenceNumber: 5 });
    expect((await send({ body: beat("counter", { sequenceNumber: 5 }) })).json).toMatchObject({
      status: "duplicate",
      because: "seen-before",
    });
    expect((await send({ body: beat("counter", { sequenceNumber: 3 }) })).json).toMatchObject({
      status: "stale",
      because: "older-than-last",
    });
    expect((await daemon.rouse.why("counter")).beats).toMatchObject({ accepted: 1, duplicates: 1, stale: 1 });
  });

  it("of an earlier life is refused", async () => {
    await accepted({ agentId: "reborn", incarnation: 2 });
    const { status, json } = await send({ body: beat("reborn", { incarnation: 1 }) });
    expect({ status, json }).toMatchObject({ status: 409, json: { because: "old-incarnation" } });
  });
});

describe("a checksum", () => {
  const sign = (message: object) => ({
    ...message,
    checksum: createHash("sha256").update(canonicalJson(message)).digest("hex"),
  });

  it("that is right is accepted, whatever the order of the fields", async () => {
    const signed = sign({ status: "RUNNING", agentId: "signer", tokenCount: 17, unknownField: [1, { b: 2, a: 1 }] });
    await accepted(Object.fromEntries(Object.entries(signed).toReversed()));
  });

  it("that is wrong is refused, and the agent stays as it was", async () => {
    await accepted({ agentId: "target", sequenceNumber: 1, status: "IDLE", tokenCount: 17 });
    const before = await daemon.rouse.getAgentHealth("target");
    const forged = { ...sign({ agentId: "target", sequenceNumber: 2 }), status: "FINISHED", tokenCount: 999 };
    const { status, json } = await send({ body: JSON.stringify(forged) });
    expect({ status, json }).toMatchObject({ status: 422, json: { status: "rejected", because: "wrong-checksum" } });
    const after = await daemon.rouse.getAgentHealth("target");
    expect({ ...after, metrics: { ...after.metrics, uptimeSeconds: 0 } }).toEqual({
      ...before,
      metrics: { ...before.metrics, uptimeSeconds: 0 },
    });
    expect((await daemon.rouse.why("target")).beats).toMatchObject({ accepted: 1, refused: 1 });
  });

  it.each([
    ["of nobody known makes no agent known", '{"agentId":"forger","checksum":"00"}'],
    ["of a number that JSON cannot hold is wrong", '{"agentId":"forger","x":1e999,"checksum":"00"}'],
    ["of half a character is wrong", '{"agentId":"forger","x":"\\ud800","checksum":"00"}'],
  ])("%s", async (_, body) => {
    expect(await send({ body })).toMatchObject({ status: 422, json: { because: "wrong-checksum" } });
    expect(await refusal({ path: "/api/v1/agents/forger" })).toEqual({ status: 404, code: "agent-unknown" });
  });
});

describe("the names of the monitor itself", () => {
  it("are refused to everybody else", async () => {
    const { status, json } = await send({ body: beat("rouse.helper") });
    expect({ status, json }).toMatchObject({ status: 403, json: { because: "reserved-id" } });
    expect(await refusal({ path: "/api/v1/agents", body: beat("rouse.helper") })).toMatchObject({ status: 400 });
    expect(await refusal({ path: "/api/v1/agents/rouse.canary" })).toMatchObject({ status: 404 });
  });
});

describe("a request from somebody who may not", () => {
  const unauthorised = { status: 401, code: "unauthorized" };

  it.each([
    "/api/v1/agents",
    "/api/v1/heartbeats",
    "/metrics",
    "/readyz",
    "/api/v1/openapi.json",
    "/no/such/path",
    "/",
  ])("learns nothing from %s without the token", async (path) => {
    expect(await refusal({ path, headers: { authorization: null } })).toEqual(unauthorised);
    expect(await refusal({ path, headers: { authorization: `Bearer ${"x".repeat(43)}` } })).toEqual(unauthorised);
    expect(await refusal({ path, headers: { authorization: `Basic ${daemon.token}` } })).toEqual(unauthorised);
    expect(await refusal({ path: `${path}?token=${daemon.token}`, headers: { authorization: null } })).toEqual(
      unauthorised,
    );
  });

  it("changes nothing by beating without the token", async () => {
    const sent = { body: beat("uninvited"), headers: { authorization: null } };
    expect(await refusal(sent)).toEqual(unauthorised);
    expect(await refusal({ path: "/api/v1/agents/uninvited" })).toMatchObject({ status: 404 });
  });

  it.each(["evil.example", "127.0.0.1.evil.example", "localhost:1", "[::1"])(
    "is refused when it calls us %j: a name that was pointed at this machine",
    async (host) => {
      const sent = { path: "/livez", headers: { host } };
      expect(await refusal(sent)).toEqual({ status: 421, code: "host-refused" });
      expect(await refusal({ body: beat("rebound"), headers: { host } })).toMatchObject({ status: 421 });
    },
  );

  it.each(["https://evil.example", "null", "http://127.0.0.1:1", "file://"])(
    "is refused when it comes from a page of %s, even with the token",
    async (origin) => {
      expect(await refusal({ body: beat("crossing"), headers: { origin } })).toEqual({
        status: 403,
        code: "origin-refused",
      });
      expect(await refusal({ path: "/livez", headers: { origin } })).toMatchObject({ status: 403 });
    },
  );

  it("is answered when it comes from a page of our own", async () => {
    const { port } = new URL(daemon.url);
    for (const origin of [daemon.url, `http://localhost:${port}`]) {
      expect((await send({ path: "/api/v1/agents", headers: { origin } })).status).toBe(200);
    }
  });

  it("gets no permission from a preflight", async () => {
    const asks = { origin: "https://evil.example", "access-control-request-method": "POST" };
    for (const path of ["/api/v1/heartbeats", "/api/v1/freeze", "/livez"]) {
      expect((await send({ method: "OPTIONS", path, headers: { ...asks, authorization: null } })).status).toBe(403);
      const ours = await send({ method: "OPTIONS", path, headers: { ...asks, origin: daemon.url } });
      expect(ours.status).toBe(405);
    }
  });
});

describe("a request for something that is not there", () => {
  it.each(["/api/v2/agents", "/api/v1/", "/livez/", "/../etc/passwd", "/api/v1/heartbeats/x"])(
    "is answered 404 at %s",
    async (path) => {
      expect(await refusal({ path })).toEqual({ status: 404, code: "not-found" });
    },
  );

  it.each(["", "/why", "/history", "/heartbeats"])("is answered 404 for an unknown agent%s", async (rest) => {
    expect(await refusal({ path: `/api/v1/agents/nobody${rest}` })).toEqual({ status: 404, code: "agent-unknown" });
  });

  it.each(["GET", "PUT", "DELETE", "PATCH", "QUERY", "PROPFIND"])(
    "is answered 405 for a %s of the heartbeats",
    async (method) => {
      expect(await refusal({ method })).toEqual({ status: 405, code: "method-not-allowed" });
      expect((await send({ method })).headers["allow"]).toBe("POST");
    },
  );

  it.each([
    ["POST", "/livez", "GET"],
    ["DELETE", "/api/v1/agents", "POST, GET"],
    ["PUT", "/api/v1/agents/bystander", "GET, DELETE"],
    ["GET", "/api/v1/agents/bystander/nudge", "POST"],
  ])("is answered 405 and what it takes: %s %s takes %s", async (method, path, allow) => {
    expect(await refusal({ method, path })).toEqual({ status: 405, code: "method-not-allowed" });
    expect((await send({ method, path })).headers["allow"]).toBe(allow);
  });

  it.each([
    ["/api/v1/heartbeats", "text/plain"],
    ["/api/v1/heartbeats", "application/x-www-form-urlencoded"],
    ["/api/v1/agents", "text/plain;charset=UTF-8"],
    ["/api/v1/freeze", "application/xml"],
    ["/api/v1/freeze", "application/x-ndjson"],
    ["/api/v1/tasks/t/checkpoints", "multipart/form-data; boundary=x"],
  ])("is answered 415 at %s for %s", async (path, type) => {
    const sent = { path, body: beat("typed"), headers: { "content-type": type } };
    expect(await refusal(sent)).toEqual({ status: 415, code: "media-type-refused" });
    expect((await send(sent)).headers["content-type"]).toContain("application/problem+json");
  });

  it.each(["application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"])(
    "is understood as %s",
    async (type) => {
      const { status } = await send({ body: beat("typed-well"), headers: { "content-type": type } });
      expect(status).toBe(200);
    },
  );

  it.each([
    "/api/v1/agents/%E0%A4%A",
    "/api/v1/events?after=-1",
    "/api/v1/events?after=1&after=2",
    "/api/v1/events?types=NOTHING",
    "/api/v1/events?limit=0",
    "/api/v1/events?types=AGENT_REGISTERED&types=AGENT_REMOVED",
    "/api/v1/agents?type=a&type=b",
    "/api/v1/agents?q=a&q=a",
    "/api/v1/agents/bystander/heartbeats?limit=1e9",
    "/api/v1/agents/bystander/history?duration=forever",
    "/api/v1/agents/bystander/history?duration=1h&duration=2h",
    "/api/v1/agents?filter=purple",
    "/api/v1/agents?states=HEALTHY",
    "/api/v1/agents?cursor=x",
    "/api/v1/agents/bystander?verbose",
    "/api/v1/tasks?cursor=x",
    "/api/health/status?x=1",
  ])("is answered 400 with a reason at %s", async (path) => {
    expect(await refusal({ path })).toEqual({ status: 400, code: "bad-request" });
  });

  it.each(["limit=1", "cursor=5"])(
    "is answered 400 for a stream of events with %s, which is for pages",
    async (query) => {
      const sent = { path: `/api/v1/events?${query}`, headers: { accept: "text/event-stream" } };
      expect(await refusal(sent)).toEqual({ status: 400, code: "bad-request" });
    },
  );

  it("is answered 400 in few printable words, whatever was sent", async () => {
    const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`\u202e${n}`, n]));
    const { status, json } = await send({ path: "/api/v1/agents", body: beat("wordy", keys) });
    const { detail } = json as Problem;
    expect({ status, detail }).toEqual({ status: 400, detail: expect.stringMatching(/Unrecognized keys/) });
    expect(detail.length).toBeLessThan(1000);
    expect(detail).not.toContain("\u202e");
    const { text } = await send({ path: "/api/v1/agents?%E2%80%AE=1" });
    expect(text).not.toContain("\u202e");
  });

  it("is answered 400 for an order nobody understands", async () => {
    for (const body of ['{"reason":5}', '{"reazon":"x"}', '"now"', "{", '{"__proto__":{"reason":"x"}}']) {
      expect(await refusal({ path: "/api/v1/freeze", body })).toEqual({ status: 400, code: "bad-request" });
    }
    expect((await daemon.rouse.status()).monitor.frozen).toBeNull();
  });
});

const head = (headers: readonly string[]): string =>
  [
    "POST /api/v1/heartbeats HTTP/1.1",
    `host: ${new URL(daemon.url).host}`,
    `authorization: Bearer ${daemon.token}`,
    ...headers,
    "",
    "",
  ].join("\r\n");

/** By hand, because an HTTP client loses the answer when it cannot get rid of the body. */
async function sendRaw(headers: readonly string[], body: string): Promise<string> {
  const socket = connect(Number(new URL(daemon.url).port), "127.0.0.1");
  socket.write(head(headers));
  socket.write(body);
  return readAll(socket);
}

/** What came until the other side hung up, politely or not. */
async function readAll(socket: ReturnType<typeof connect>): Promise<string> {
  let text = "";
  socket.on("error", () => undefined);
  socket.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  await once(socket, "close");
  return text;
}
