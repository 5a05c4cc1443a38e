import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cleanUp } from "./clean-up.ts";
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

describe("a body without a length that does not end", () => {
  it.each([
    "/api/v1/heartbeats",
    "/api/v1/freeze",
    "/api/v1/agents/w/steps",
    "/api/v1/escalations/w.1/decision",
    "/api/v1/tasks/t/checkpoints",
  ])("is answered with 413 and an orderly end, and the sender hears it (%s)", async (path) => {
    const troubles: unknown[] = [];
    const headers = { authorization: `Bearer ${daemon.token}`, "content-type": "application/json" };
    const asked = request(`${daemon.url}${path}`, { method: "POST", headers, agent: false });
    asked.on("error", (error) => troubles.push(error));
    const answered = once(asked, "response");
    const chunk = Buffer.alloc(1024 * 1024, "x");
    let isAnswered = false;
    void answered.then(() => {
      isAnswered = true;
    });
    for (let sent = 0; sent < 100 && !isAnswered; sent++)
      if (!asked.write(chunk)) await Promise.race([once(asked, "drain"), answered]);
    if (!isAnswered) asked.end();
    const [response] = await answered;
    let text = "";
    for await (const part of response) text += String(part);
    expect(response.statusCode).toBe(413);
    expect(response.headers.connection).not.toBe("keep-alive");
    expect(JSON.parse(text)).toMatchObject({ error: { code: "body-too-large" } });
    expect(troubles).toEqual([]);
  });
});

describe("whoever guesses tokens", () => {
  it("waits longer and longer and is sent away in the end, while the owner is answered from the same address", async () => {
    let settled = 0;
    const guess = (n: number) =>
      sendRequest({ url: daemon.url, token: `guess-${n}` }, { path: "/api/v1/agents" }).finally(() => {
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
    expect(away).toMatchObject({ headers: { "retry-after": "4" }, json: { error: { code: "too-many-attempts" } } });
    const again = await sendRequest(
      { url: daemon.url, token: "" },
      { path: "/livez", headers: { authorization: null } },
    );
    expect(again.status).toBe(200);
  });
});
