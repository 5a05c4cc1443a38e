import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { fetchOverHttp } from "./fetch-over-http.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const plain = (signal: AbortSignal = new AbortController().signal) =>
  ({ headers: {}, redirect: "manual", signal }) as const;

it("sends what it is given and reads what comes, as fetch does", async () => {
  const url = await serve(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    response.writeHead(201).end(JSON.stringify([request.method, request.headers["x-name"], body, "ü"]));
  });
  for (const ask of [fetch, fetchOverHttp]) {
    const request = { ...plain(), method: "POST", headers: { "x-name": "a" }, body: "grüße" };
    const answer = await ask(url, request);
    expect({ ok: answer.ok, status: answer.status, body: await answer.json() }).toEqual({
      ok: true,
      status: 201,
      body: ["POST", "a", "grüße", "ü"],
    });
  }
});

it("follows nobody who points elsewhere", async () => {
  const url = await serve((_, response) => void response.writeHead(302, { location: "/other" }).end());
  expect(await fetchOverHttp(url, plain())).toMatchObject({ ok: false, status: 302 });
});

it("fails as fetch does, with what happened as the cause", async () => {
  const url = await serve((request) => request.socket.destroy());
  await expect(fetchOverHttp(url, plain())).rejects.toMatchObject({ cause: { code: "ECONNRESET" } });
  server?.close();
  await expect(fetchOverHttp(url, plain())).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
});

it("ends with the reason it was given when it is called off, before, during and after the head of an answer", async () => {
  const why = new Error("enough");
  const url = await serve((request, response) => {
    if (request.url === "/started") response.writeHead(200).write("a");
  });
  await expect(fetchOverHttp(url, plain(AbortSignal.abort(why)))).rejects.toBe(why);

  const unanswered = new AbortController();
  const asked = fetchOverHttp(url, plain(unanswered.signal));
  server?.once("request", () => unanswered.abort(why));
  await expect(asked).rejects.toBe(why);

  const started = new AbortController();
  const reader = (await fetchOverHttp(`${url}/started`, plain(started.signal))).body?.getReader();
  expect((await reader?.read())?.value).toEqual(Buffer.from("a"));
  started.abort(why);
  await expect(reader?.read()).rejects.toBe(why);
});
