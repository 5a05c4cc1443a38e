import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type LoadPlan, readResponses, runLoad } from "./load.ts";

interface Beat {
  agentId: string;
  sequenceNumber: number;
  status: string;
}

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** A server that answers as the daemon would and remembers every beat it was sent. */
async function startServer({ answer = (_: Beat): string => "accepted", status = 200, hangUp = false } = {}) {
  const beats: Beat[] = [];
  const server = createServer(async (request, response) => {
    const sent = parse(await read(request), request.headers["content-type"]);
    beats.push(...sent);
    const acks = sent.map((beat) => ({ agentId: beat.agentId, status: answer(beat) }));
    if (hangUp) return void response.destroy();
    const body = JSON.stringify({ acks });
    response.writeHead(status, { "content-length": Buffer.byteLength(body) }).end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { beats, port: (server.address() as AddressInfo).port };
}

function parse(text: string, type = ""): Beat[] {
  if (type.includes("ndjson"))
    return text
      .trimEnd()
      .split("\n")
      .map((one) => JSON.parse(one) as Beat);
  const sent = JSON.parse(text) as Beat | Beat[];
  return Array.isArray(sent) ? sent : [sent];
}

async function read(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

const plan = (port: number, changes: Partial<LoadPlan> = {}): LoadPlan => ({
  port,
  token: "token",
  form: "single",
  beatsPerRequest: 1,
  agents: 20,
  firstSequence: 0,
  status: "RUNNING",
  prefix: "test",
  connections: 4,
  expected: '"status":"accepted"',
  warmupSeconds: 0,
  seconds: 1,
  requests: 60,
  requestsPerSecond: null,
  ...changes,
});

const identities = (beats: readonly Beat[]) =>
  new Set(beats.map(({ agentId, sequenceNumber }) => `${agentId} ${sequenceNumber}`));

describe("the load generator", () => {
  it("sends as many requests as it was told, no beat twice, every agent its share, and counts every answer", async () => {
    const { beats, port } = await startServer();
    const result = await runLoad(plan(port));
    expect(result).toMatchObject({ requests: 60, beats: 60, wrong: 0, firstWrong: null });
    expect(identities(beats).size).toBe(60);
    expect(new Set(beats.map(({ agentId }) => agentId)).size).toBe(20);
    expect(new Set(beats.map(({ sequenceNumber }) => sequenceNumber)).size).toBe(3);
  });

  it("numbers the beats of one agent upwards in the order they are sent", async () => {
    const { beats, port } = await startServer();
    await runLoad(plan(port, { firstSequence: 7 }));
    const ofOne = beats
      .filter(({ agentId }) => agentId === beats[0]?.agentId)
      .map(({ sequenceNumber }) => sequenceNumber);
    expect(ofOne).toEqual([1_000_000_007, 1_000_000_008, 1_000_000_009]);
  });

  for (const form of ["array", "lines"] as const) {
    it(`counts beats, not requests, when they are sent as ${form}`, async () => {
      const { beats, port } = await startServer();
      const result = await runLoad(plan(port, { form, beatsPerRequest: 5, requests: 8 }));
      expect(result).toMatchObject({ requests: 8, beats: 40, wrong: 0 });
      expect(identities(beats).size).toBe(40);
    });
  }

  it("keeps to a pace without losing a request", async () => {
    const { beats, port } = await startServer();
    const result = await runLoad(plan(port, { requestsPerSecond: 500, requests: 60 }));
    expect(result).toMatchObject({ requests: 60, wrong: 0 });
    expect(identities(beats).size).toBe(60);
  });

  it("reports answers that do not accept the beat", async () => {
    const { port } = await startServer({ answer: ({ agentId }) => (agentId.endsWith("3") ? "rejected" : "accepted") });
    const result = await runLoad(plan(port, { requests: 20 }));
    expect(result.wrong).toBe(2);
    expect(result.firstWrong).toContain('"status":"rejected"');
  });

  it("reports answers with another status than 200", async () => {
    const { port } = await startServer({ status: 503 });
    const result = await runLoad(plan(port, { requests: 20 }));
    expect(result.wrong).toBe(20);
  });

  it("fails when the server goes away under it", async () => {
    const { port } = await startServer({ hangUp: true });
    await expect(runLoad(plan(port))).rejects.toThrow("closed a connection");
  });

  it("refuses a plan in which an agent would move between connections", async () => {
    await expect(runLoad(plan(1, { agents: 21 }))).rejects.toThrow("21 agents are no multiple of 4 connections");
  });
});

describe("reading responses", () => {
  const one = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Note: a\r\n\r\nhello";
  const other = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

  it("finds the same responses however the bytes are cut", () => {
    const stream = Buffer.from(one + other + one);
    for (let size = 1; size <= stream.length; size++) {
      const seen: string[] = [];
      const take = readResponses((status, body) => seen.push(`${status} ${body}`));
      for (let at = 0; at < stream.length; at += size) take(stream.subarray(at, at + size));
      expect(seen, `in pieces of ${size}`).toEqual(["200 hello", "404 ", "200 hello"]);
    }
  });

  it("will not guess where a response without a length ends", () => {
    const take = readResponses(() => {});
    expect(() => take(Buffer.from("HTTP/1.1 200 OK\r\n\r\nhello"))).toThrow("Content-Length");
  });
});
