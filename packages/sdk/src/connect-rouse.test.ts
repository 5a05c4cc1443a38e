import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Fault, minutes, type SavedEvent } from "@rouse/contract";
import { afterEach, describe, expect, it, vi } from "vitest";
import { connectRouse } from "./connect-rouse.ts";

const token = "s3cret-s3cret-s3cret";
let server: Server | undefined;

afterEach(() => {
  vi.useRealTimers();
  server?.closeAllConnections();
  server?.close();
});

async function serve(listener: RequestListener): Promise<string> {
  const opened = createServer(listener);
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(opened.address() as AddressInfo).port}`;
}

const connect = async (listener: RequestListener) => connectRouse({ url: await serve(listener), token });

function answer(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const refuse = (response: ServerResponse, status: number, code: string, message: string, retryable = false) =>
  answer(response, { code, detail: message, retryable }, status);

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** The Fault a call ends in; a call that succeeds fails the test. */
async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const outcome = await call.then(
    () => "it succeeded",
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(Fault);
  return outcome as Fault;
}

describe("a call", () => {
  it("reads no more of an answer without end than Rouse ever says", async () => {
    const part = Buffer.alloc(1024 * 1024, " ");
    let poured = 0;
    const rouse = await connect((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const pour = (): void => {
        do poured += part.length;
        while (response.write(part));
      };
      response.on("drain", pour);
      pour();
    });
    expect(await faultOf(rouse.escalations())).toMatchObject({
      code: "daemon-unreachable",
      message: expect.stringContaining("is not a Rouse that this client understands"),
    });
    expect(poured).toBeLessThan(128 * 1024 * 1024);
  });

  it("carries the token and names the agent in the path", async () => {
    const asked: unknown[] = [];
    const rouse = await connect((request, response) => {
      asked.push([request.method, request.url, request.headers.authorization]);
      answer(response, { agentId: "team:worker+1@n" });
    });
    expect(await rouse.getAgentHealth("team:worker+1@n")).toEqual({ agentId: "team:worker+1@n" });
    expect(asked).toEqual([["GET", "/api/v1/agents/team%3Aworker%2B1%40n", `Bearer ${token}`]]);
  });

  it("tells the steps of an agent and asks for those that are kept", async () => {
    const asked: unknown[] = [];
    const rouse = await connect(async (request, response) => {
      asked.push([request.method, request.url, request.method === "POST" ? await readBody(request) : null]);
      answer(
        response,
        request.method === "POST" ? { accepted: 1, rejected: [] } : { steps: [], last: null, next: null },
      );
    });
    const event = { kind: "message", role: "agent", text_digest: "d" } as const;
    expect(await rouse.recordSteps("a:b", [event])).toEqual({ accepted: 1, rejected: [] });
    expect(await rouse.steps("a:b", { limit: 5, after: "3.1" })).toEqual({ steps: [], last: null, next: null });
    await rouse.steps("a:b");
    expect(asked).toEqual([
      ["POST", "/api/v1/agents/a%3Ab/steps", [event]],
      ["GET", "/api/v1/agents/a%3Ab/steps?limit=5&after=3.1", null],
      ["GET", "/api/v1/agents/a%3Ab/steps", null],
    ]);
  });

  it("unwraps lists, history and the last heartbeat as the service promises them", async () => {
    const rouse = await connect((request, response) => {
      const answers: Record<string, unknown> = {
        "/api/v1/agents?limit=5000": { agents: [{ agentId: "a" }], next: "7" },
        "/api/v1/agents?limit=5000&cursor=7": { agents: [{ agentId: "b" }], next: null },
        "/api/v1/agents?filter=unhealthy&state=STUCK%2CFAILING&limit=5000": { agents: [{ agentId: "b" }], next: null },
        "/api/v1/agents/a/history?duration=300000ms": { agentId: "a", history: [{ beats: 3 }] },
        "/api/v1/agents/a/heartbeats?limit=1": { heartbeats: [{ agentId: "a", receivedAt: "2026-02-05T10:30:00Z" }] },
        "/api/v1/agents/b/heartbeats?limit=1": { heartbeats: [] },
      };
      answer(response, answers[request.url ?? ""]);
    });
    expect(await rouse.getAllAgentHealth()).toEqual([{ agentId: "a" }, { agentId: "b" }]);
    expect(await rouse.fleet()).toEqual({ agents: [{ agentId: "a" }, { agentId: "b" }], next: null });
    const ill = { filter: "unhealthy", state: ["STUCK", "FAILING"] } as const;
    expect(await rouse.getAllAgentHealth(ill)).toEqual([{ agentId: "b" }]);
    expect(await rouse.getHealthHistory("a", minutes(5))).toEqual([{ beats: 3 }]);
    expect(await rouse.getLastHeartbeat("a")).toEqual({ agentId: "a" });
    expect(await rouse.getLastHeartbeat("b")).toBeNull();
  });

  it("sends heartbeats, registrations and orders as JSON", async () => {
    const sent: unknown[] = [];
    const rouse = await connect(async (request, response) => {
      sent.push([request.method, request.url, await readBody(request)]);
      answer(response, { status: "accepted" }, request.url === "/api/v1/agents" ? 201 : 200);
    });
    await rouse.recordHeartbeat({ agentId: "a", status: "RUNNING" });
    await rouse.registerAgent({ agentId: "a" });
    await rouse.freeze({ reason: "maintenance" });
    await rouse.thaw();
    expect(sent).toEqual([
      ["POST", "/api/v1/heartbeats", { agentId: "a", status: "RUNNING" }],
      ["POST", "/api/v1/agents", { agentId: "a" }],
      ["POST", "/api/v1/freeze", { reason: "maintenance" }],
      ["POST", "/api/v1/thaw", {}],
    ]);
  });

  it("resolves with the acknowledgement of a beat that was rejected", async () => {
    const ack = { agentId: "a", status: "rejected", because: "wrong-checksum", commands: [] };
    const rouse = await connect((_, response) => answer(response, ack, 422));
    expect(await rouse.recordHeartbeat({ agentId: "a" })).toEqual(ack);
  });
});

describe("a call that fails", () => {
  it("says what Rouse said, with its code", async () => {
    const rouse = await connect((_, response) => refuse(response, 503, "store-unavailable", "disk full", true));
    for (const call of [rouse.status(), rouse.recordHeartbeat({ agentId: "a" })]) {
      expect(await faultOf(call)).toMatchObject({ code: "store-unavailable", message: "disk full", retryable: true });
    }
  });

  it("says how to start Rouse when nothing listens", async () => {
    const url = await serve(() => undefined);
    await new Promise((resolve) => server?.close(resolve));
    const fault = await faultOf(connectRouse({ url, token }).status());
    expect(fault).toMatchObject({ code: "daemon-unreachable", retryable: true });
    expect(fault.message).toBe(`no Rouse is running at ${url}; start it with \`rouse up\``);
  });

  it("does not take another program's answer for Rouse's", async () => {
    const rouse = await connect((_, response) => response.writeHead(200).end("<h1>It works!</h1>"));
    const fault = await faultOf(rouse.status());
    expect(fault).toMatchObject({ code: "daemon-unreachable", retryable: false });
    expect(fault.message).toContain("not a Rouse");
  });

  it("follows no redirect, so that the token goes nowhere else", async () => {
    const asked: string[] = [];
    const rouse = await connect((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    await faultOf(rouse.status());
    expect(asked).toEqual(["/api/health/status"]);
  });

  it("gives up on an answer that does not come", async () => {
    const url = await serve(() => undefined);
    const fault = await faultOf(connectRouse({ url, token, timeout: 50 }).status());
    expect(fault).toMatchObject({ code: "daemon-unreachable", retryable: true });
    expect(fault.message).toBe(`no answer from ${url} within 0.05 s`);
  });

  it("asks nothing for an id that would make another path", async () => {
    const asked: unknown[] = [];
    const rouse = await connect((request) => asked.push(request.url));
    for (const id of ["", "..", "a/b", "a?b"]) {
      expect((await faultOf(rouse.getAgentHealth(id))).code).toBe("agent-unknown");
      expect((await faultOf(rouse.why(id))).code).toBe("agent-unknown");
    }
    expect(asked).toEqual([]);
  });

  it("never quotes the token or a password in the address", () => {
    const texts = [
      () => connectRouse({ url: "http://127.0.0.1:1", token: "s3cret\nX-Injected: 1" }),
      () => connectRouse({ url: "http://me:s3cret@127.0.0.1:1", token }),
      () => connectRouse({ url: "s3cret", token }),
    ].map((open) => {
      try {
        return JSON.stringify(open());
      } catch (error) {
        expect(error).toBeInstanceOf(Fault);
        return String((error as Error).stack);
      }
    });
    expect(texts.join()).not.toContain("s3cret");
  });
});

const event = (id: number): SavedEvent => ({ id, time: "2026-02-05T10:30:00Z", type: "MONITOR_STOPPED", payload: {} });

const frameOf = (one: SavedEvent) => `id: ${one.id}\nevent: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`;

function openStream(response: ServerResponse, ...ids: number[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`: rouse events\n\n${ids.map((id) => frameOf(event(id))).join("")}`);
}

describe("the stream of events", () => {
  it("goes on after the last event it saw when the connection drops", async () => {
    const asked: string[] = [];
    const rouse = await connect((request, response) => {
      asked.push(request.url ?? "");
      if (request.headers.accept === "application/json") answer(response, { events: [event(4)] });
      else if (asked.length === 2) {
        openStream(response, 5, 6);
        setImmediate(() => response.destroy());
      } else openStream(response, 7);
    });
    const seen: unknown[] = [];
    const interruptions: string[] = [];
    const stream = rouse.streamEvents({ agentId: "a", onInterrupted: (fault) => interruptions.push(fault.code) });
    for await (const { id } of stream) {
      seen.push(id);
      if (id === 7) break;
    }
    expect(seen).toEqual([5, 6, 7]);
    expect(interruptions).toEqual(["daemon-unreachable"]);
    expect(asked).toEqual([
      "/api/v1/events?limit=1",
      "/api/v1/events?after=4&agent=a",
      "/api/v1/events?after=6&agent=a",
    ]);
  });

  it("closes its connection when nobody reads on", async () => {
    let closed: (() => void) | undefined;
    const hungUp = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const rouse = await connect((request, response) => {
      request.socket.once("close", () => closed?.());
      openStream(response, 1);
    });
    for await (const _ of rouse.streamEvents({ after: 0 })) break;
    await hungUp;
  });

  it("ends quietly when it is aborted", async () => {
    const rouse = await connect((_, response) => openStream(response, 1));
    const stop = new AbortController();
    const seen: unknown[] = [];
    for await (const { id } of rouse.streamEvents({ after: 0, signal: stop.signal })) {
      seen.push(id);
      stop.abort();
    }
    expect(seen).toEqual([1]);
    for await (const _ of rouse.streamEvents({ signal: stop.signal })) expect.unreachable();
  });

  it("does not insist where trying again cannot help", async () => {
    const rouse = await connect((request, response) => {
      if (request.url?.includes("after=0")) {
        openStream(response, 1);
        setImmediate(() => response.destroy());
      } else refuse(response, 401, "unauthorized", "send the token");
    });
    const read = async () => {
      for await (const _ of rouse.streamEvents({ after: 0 }));
    };
    expect((await faultOf(read())).code).toBe("unauthorized");
  });

  it("passes beats on, which have no id, and keeps its place", async () => {
    const beat = { time: "2026-02-05T10:30:00Z", type: "AGENT_HEARTBEAT", payload: { agentId: "a" } };
    const rouse = await connect((request, response) => {
      if (request.url?.includes("after=3")) return openStream(response, 4);
      openStream(response, 3);
      response.write(`event: AGENT_HEARTBEAT\ndata: ${JSON.stringify(beat)}\n\n`);
      setImmediate(() => response.destroy());
    });
    const seen: unknown[] = [];
    for await (const one of rouse.streamEvents({ after: 2, types: ["AGENT_HEARTBEAT", "MONITOR_STOPPED"] })) {
      seen.push(one);
      if (one.id === 4) break;
    }
    expect(seen).toEqual([event(3), beat, event(4)]);
  });

  it("takes a connection that fell silent for dead and connects again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
    const rouse = await connect((request, response) => openStream(response, request.url?.includes("after=1") ? 2 : 1));
    const seen: unknown[] = [];
    const interruptions: string[] = [];
    const stream = rouse.streamEvents({ after: 0, onInterrupted: ({ message }) => interruptions.push(message) });
    for await (const { id } of stream) {
      seen.push(id);
      if (id === 2) break;
      // Rouse says something every 15 s; this server never says anything again.
      setImmediate(() => vi.advanceTimersByTime(45_000));
    }
    expect(seen).toEqual([1, 2]);
    expect(interruptions).toEqual([expect.stringMatching(/^nothing was heard from .* for 45 s$/)]);
  });

  it("fails at once when there is nothing to connect to", async () => {
    const rouse = await connect((_, response) => refuse(response, 503, "store-unavailable", "disk full", true));
    const read = async () => {
      for await (const _ of rouse.streamEvents());
    };
    expect((await faultOf(read())).code).toBe("store-unavailable");
  });
});
