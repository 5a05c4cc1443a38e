import { once } from "node:events";
import { Agent } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { afterwards, cleanUp } from "./clean-up.ts";
import { sendRequest } from "./send-request.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await cleanUp();
  expect(daemon.process.stderr()).not.toContain("a mistake in Rouse");
});

/** Just these lines, and what comes back until the other side closes. */
async function sendRaw(...lines: string[]): Promise<string> {
  const { hostname, port } = new URL(daemon.url);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    answer += text;
  });
  const token = `Authorization: Bearer ${daemon.token}`;
  socket.write([...lines, token, "Connection: close", "", ""].join("\r\n"));
  await once(socket, "close");
  return answer;
}

describe("a request that can be read in two ways", () => {
  it("is refused: two Host headers, whichever is ours and however they are written", async () => {
    const { host } = new URL(daemon.url);
    expect(await sendRaw("GET /api/v1/agents HTTP/1.1", `Host: ${host}`)).toMatch(/^HTTP\/1\.1 200 /);
    for (const [first, second] of [
      [host, "evil.example"],
      ["evil.example", host],
      [host, host],
    ])
      expect(await sendRaw("GET /api/v1/agents HTTP/1.1", `Host: ${first}`, `hOST: ${second}`)).toMatch(
        /^HTTP\/1\.1 400 /,
      );
  });

  it("is refused: a whole address where a path belongs, even our own", async () => {
    const { host } = new URL(daemon.url);
    for (const target of [`${daemon.url}/api/v1/agents`, "http://evil.example/api/v1/agents", "*"])
      expect(await sendRaw(`OPTIONS ${target} HTTP/1.1`, `Host: ${host}`), target).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("a request that cannot be read", () => {
  it.each([
    ["a header that is none", "400", ["x y: z"]],
    ["a length and chunks", "400", ["Content-Length: 5", "Transfer-Encoding: chunked"]],
    ["headers of more than 16 KiB", "431", [`x: ${"y".repeat(20_000)}`]],
  ])("is refused with a problem like all others, and the connection closed: %s", async (_, status, headers) => {
    const { host } = new URL(daemon.url);
    const answer = await sendRaw("POST /api/v1/freeze HTTP/1.1", `Host: ${host}`, ...headers);
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(head).toMatch(/^content-type: application\/problem\+json$/im);
    expect(head).toMatch(/^connection: close$/im);
    expect(JSON.parse(body)).toMatchObject({ code: "bad-request", status: Number(status), retryable: false });
  });

  it("is refused with a problem when it has no Host or a word nobody knows; an Expect is no obstacle", async () => {
    const { host } = new URL(daemon.url);
    for (const lines of [["GET /livez HTTP/1.1"], ["DANCE /livez HTTP/1.1", `Host: ${host}`]]) {
      const answer = await sendRaw(...lines);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('"code":"bad-request"');
    }
    expect(await sendRaw("GET /livez HTTP/1.1", `Host: ${host}`, "Expect: cake")).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("a body without a length that does not end", () => {
  it.each([
    "/api/v1/heartbeats",
    "/api/v1/freeze",
    "/api/v1/agents/w/steps",
    "/api/v1/escalations/w.1/decision",
    "/api/v1/tasks/t/checkpoints",
  ])("is answered with 413 and an orderly end, and the sender hears it (%s)", async (path) => {
    const { host, hostname, port } = new URL(daemon.url);
    const socket = connect(Number(port), hostname);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const troubles: unknown[] = [];
    socket.on("error", (error) => troubles.push(error));
    const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${daemon.token}`];
    socket.write([...head, "Content-Type: application/json", "Transfer-Encoding: chunked", "", ""].join("\r\n"));
    // As many clients do: the answer is not looked at before everything is sent.
    const chunk = Buffer.from(`100000\r\n${"x".repeat(1024 * 1024)}\r\n`);
    for (let sent = 0; sent < 100 && troubles.length === 0; sent++)
      if (!socket.write(chunk)) await Promise.race([new Promise((go) => socket.once("drain", go)), closed]);
    socket.write("0\r\n\r\n");
    let answer = "";
    for await (const part of socket) answer += String(part);
    expect(troubles).toEqual([]);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).not.toMatch(/connection: keep-alive/i);
    expect(answer).toContain('"body-too-large"');
  });
});

describe("whoever guesses tokens", () => {
  it("waits longer and longer and is sent away in the end, while the owner is answered, from whatever addresses of this machine", async () => {
    let settled = 0;
    const guess = (n: number) =>
      sendRequest(
        { url: daemon.url, token: `guess-${n}` },
        { path: "/api/v1/agents", connection: new Agent({ localAddress: `127.0.0.${n + 1}` }) },
      ).finally(() => {
        settled += 1;
      });
    const guesses = Array.from({ length: 60 }, (_, n) => guess(n));
    await Promise.any(guesses.map(async (one) => expect((await one).status).toBe(429)));
    for (let n = 0; n < 5; n++) expect((await sendRequest(daemon, { path: "/api/v1/agents" })).status).toBe(200);
    expect(settled).toBeLessThan(60);
    const answers = await Promise.all(guesses);
    const statuses = answers.map(({ status }) => status);
    // Ten at once, eight that waited, and one for each of those that was answered while others still came.
    expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(18);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    const away = answers.find(({ status }) => status === 429);
    expect(away).toMatchObject({ headers: { "retry-after": "4" }, json: { code: "too-many-attempts" } });
    const again = await sendRequest(
      { url: daemon.url, token: "" },
      { path: "/livez", headers: { authorization: null } },
    );
    expect(again.status).toBe(200);
  });
});

describe("a stranger with more connections than there may be open files", () => {
  it("keeps neither the owner out nor Rouse from its own files", async () => {
    const narrow = await startDaemon({ openFiles: 300 });
    const { host, hostname, port } = new URL(narrow.url);
    const strangers = Array.from({ length: 600 }, (_, n) => {
      const socket = connect(Number(port), hostname).on("error", () => {});
      // Half of them ask for what anybody may and stay, the others say nothing.
      if (n % 2 === 0) socket.write(`GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\n\r\n`);
      return socket;
    });
    afterwards(() => {
      for (const socket of strangers) socket.destroy();
    });
    const asked = strangers.filter((_, n) => n % 2 === 0);
    await Promise.all(
      asked.map(
        (socket) => new Promise((resolve) => (socket.closed ? resolve(null) : socket.resume().on("close", resolve))),
      ),
    );
    // Now that those are closed, as many silent ones as would fill what is left.
    for (let n = 0; n < 400; n++) {
      const socket = connect(Number(port), hostname).on("error", () => {});
      strangers.push(socket);
      await once(socket, "connect");
    }
    for (let n = 0; n < 5; n++) expect((await sendRequest(narrow, { path: "/api/v1/agents" })).status).toBe(200);
    expect(await narrow.cli("ps")).toMatchObject({ code: 0 });
    expect((await narrow.rouse.recordHeartbeat({ agentId: "w", sequenceNumber: 1 })).status).toBe("accepted");
    expect(narrow.process.stderr()).not.toContain("EMFILE");
  });

  it.each([
    ["/livez", null],
    ["/readyz", null],
    ["/api/v1/agents", "Bearer wrong"],
  ])("gets one answer on each: %s with %s", async (path, authorization) => {
    const { headers } = await sendRequest(daemon, { path, headers: { authorization, connection: "keep-alive" } });
    expect(headers.connection).toBe("close");
  });
});
