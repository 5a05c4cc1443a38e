import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http, { createServer, type RequestListener, type Server } from "node:http";
import https from "node:https";
import { type AddressInfo, createServer as createPlainServer, type Server as PlainServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { afterEach, describe, expect, it } from "vitest";
import { readBody, token } from "./fake-api.test-support.ts";
import { type Line, openLine } from "./open-line.ts";
import { type Call, type Send, send as sendByFetch } from "./send.ts";
import { type NodeHttp, sendByTheBestWay, sendOverHttp } from "./send-over-http.ts";

const send: Send = sendOverHttp((name) => (name === "node:http" ? http : https) as unknown as NodeHttp);
const beat: Call = { path: "/api/v1/heartbeats", body: { agentId: "a" }, background: true };

const opened = new Set<() => void>();
afterEach(() => {
  for (const close of opened) close();
  opened.clear();
});

/** A server of this test's own, and every connection that was made to it. */
async function serve(server: Server | PlainServer, protocol = "http"): Promise<{ url: string; connections: Socket[] }> {
  const connections: Socket[] = [];
  server.on("connection", (connection: Socket) => connections.push(connection));
  await once(server.listen(0, "127.0.0.1"), "listening");
  opened.add(() => {
    for (const connection of connections) connection.destroy();
    server.close();
  });
  return { url: `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}`, connections };
}

async function lineTo(listener: RequestListener, more: { timeout?: number; path?: string } = {}) {
  const { path = "", ...options } = more;
  const { url, connections } = await serve(createServer(listener));
  return { line: openLine({ url: url + path, token, ...options }), connections };
}

const faultOf = (answer: Promise<unknown>): Promise<Fault> =>
  answer.then(
    () => expect.unreachable("it was answered"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(Fault);
      return error as Fault;
    },
  );

const message = async (line: Line): Promise<string> => (await faultOf(send(line, beat))).message;

describe("sending over node:http", () => {
  it("asks as fetch does, and gives back status, body and Retry-After", async () => {
    const asked: unknown[] = [];
    const { line } = await lineTo(
      async (request, response) => {
        const { method, url, headers } = request;
        const { host: _, ...rest } = headers;
        asked.push([method, url, rest, await readBody(request)]);
        response.writeHead(method === "GET" ? 404 : 503, { "retry-after": "7" }).end('{"said":"ä"}');
      },
      { path: "/behind/a/proxy/" },
    );
    const body = { text: "naïve – 日本" };
    expect(await send(line, { path: "/x?y=1" })).toEqual({
      ok: false,
      status: 404,
      body: { said: "ä" },
      retryAfter: "7",
    });
    expect(await send(line, { path: "/x", body, key: "k" })).toMatchObject({ ok: false, status: 503 });
    await send(line, { path: "/x", text: '{"text":"as it is"}' });
    await send(line, { path: "/x", body: {}, method: "DELETE" });
    const usual = {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      "content-type": "application/json",
      connection: "keep-alive",
    };
    const length = Buffer.byteLength(JSON.stringify(body));
    expect(asked).toEqual([
      ["GET", "/behind/a/proxy/x?y=1", usual, null],
      ["POST", "/behind/a/proxy/x", { ...usual, "idempotency-key": "k", "content-length": String(length) }, body],
      ["POST", "/behind/a/proxy/x", { ...usual, "content-length": "19" }, { text: "as it is" }],
      ["DELETE", "/behind/a/proxy/x", { ...usual, "content-length": "2" }, {}],
    ]);
  });

  it("keeps one connection for many calls, and warns of nothing", async () => {
    const warned: Error[] = [];
    const hear = (warning: Error) => void warned.push(warning);
    process.on("warning", hear);
    const { line, connections } = await lineTo((_, response) => response.end("{}"));
    for (let n = 0; n < 30; n++) expect(await send(line, beat)).toMatchObject({ ok: true, status: 200 });
    process.off("warning", hear);
    expect(connections).toHaveLength(1);
    expect(warned).toEqual([]);
  });

  it("takes another connection when the server has closed the one that was kept", async () => {
    const { line, connections } = await lineTo((_, response) => response.end("{}"));
    await send(line, beat);
    connections[0]?.destroy();
    expect(await send(line, beat)).toMatchObject({ ok: true });
    expect(connections).toHaveLength(2);
  });

  it("asks again when the server closes the kept connection at the very moment it is used", async () => {
    const seen = new Set<Socket>();
    const { line, connections } = await lineTo((request, response) => {
      if (seen.has(request.socket)) request.socket.destroy();
      else response.end("{}");
      seen.add(request.socket);
    });
    await send(line, beat);
    expect(await send(line, beat)).toMatchObject({ ok: true });
    expect(connections).toHaveLength(2);
  });

  it("asks once on a new connection that is closed without an answer", async () => {
    const { line, connections } = await lineTo((request) => void request.socket.destroy());
    expect(await message(line)).toBe(`the connection to ${line.base} failed (ECONNRESET)`);
    expect(connections).toHaveLength(1);
  });

  it("gives up on a server that never answers, and asks it nothing again by itself", async () => {
    let asked = 0;
    const { line } = await lineTo(
      (_, response) => {
        asked += 1;
        if (asked === 1) response.end("{}");
      },
      { timeout: 200 },
    );
    await send(line, beat);
    const fault = await faultOf(send(line, beat));
    expect(fault).toMatchObject({ code: "daemon-unreachable", retryable: true });
    expect(fault.message).toBe(`no answer from ${line.base} within 0.2 s`);
    expect(asked).toBe(2);
  });

  it("gives up on an answer that begins and never ends, however much comes of it", async () => {
    const { line } = await lineTo(
      (_, response) => {
        response.write("{");
        const drip = setInterval(() => response.write(" "), 20);
        response.on("close", () => clearInterval(drip));
      },
      { timeout: 200 },
    );
    expect(await message(line)).toBe(`no answer from ${line.base} within 0.2 s`);
  });

  it("takes half an answer for none", async () => {
    const { line } = await lineTo((request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("{}", () => request.socket.destroy());
    });
    expect(await message(line)).toBe(`the connection to ${line.base} failed (ECONNRESET)`);
  });

  it("cuts off a huge answer", async () => {
    const piece = Buffer.alloc(1024 * 1024, " ");
    let sent = 0;
    const { line } = await lineTo((_, response) => {
      const pour = (): void => {
        while (!response.destroyed && response.write(piece)) sent += 1;
      };
      response.on("drain", pour);
      pour();
    });
    expect(await message(line)).toBe(`what answers at ${line.base} sends more than 24 MiB`);
    expect(sent).toBeLessThan(200);
  });

  it("follows no redirect: the token goes nowhere else", async () => {
    let asked = 0;
    const other = await lineTo((_, response) => {
      asked += 1;
      response.end("{}");
    });
    const { line } = await lineTo((_, response) => {
      response.writeHead(307, { location: other.line.base }).end("elsewhere");
    });
    expect(await send(line, beat)).toEqual({ ok: false, status: 307, body: null, retryAfter: null });
    expect(asked).toBe(0);
  });

  it("says that nothing runs there, and what answers when it is no web server", async () => {
    const { line, connections } = await lineTo(() => undefined);
    for (const close of opened) close();
    opened.clear();
    expect(connections).toEqual([]);
    expect(await message(line)).toBe(`no Rouse is running at ${line.base}; start it with \`rouse up\``);
    const { url } = await serve(createPlainServer((socket) => void socket.end("SSH-2.0-OpenSSH_9.6\r\n")));
    expect(await message(openLine({ url, token }))).toMatch(/^the connection to .* failed \(HPE_INVALID_CONSTANT\)$/);
  });

  it("asks nothing by a path that is none", async () => {
    const { line, connections } = await lineTo((_, response) => response.end("{}"), { timeout: 200 });
    const fault = await faultOf(send(line, { path: "/api/v1/checkpoints/a b\r\nx: y" }));
    expect(fault.message).toBe(`the connection to ${line.base} failed (ERR_UNESCAPED_CHARACTERS)`);
    expect(await send(line, beat)).toMatchObject({ ok: true });
    expect(connections).toHaveLength(1);
  });

  it("goes past a proxy that the environment names, as fetch does", async () => {
    let asked = 0;
    const { line: proxy } = await lineTo((_, response) => {
      asked += 1;
      response.writeHead(502).end();
    });
    const { line } = await lineTo((_, response) => response.end("{}"));
    const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY"];
    const before = names.map((name) => [name, process.env[name]] as const);
    for (const name of names) process.env[name] = proxy.base;
    try {
      expect(await send(line, beat)).toMatchObject({ ok: true });
    } finally {
      for (const [name, value] of before)
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
    }
    expect(asked).toBe(0);
  });

  it.skipIf(spawnSync("openssl", ["version"]).status !== 0)(
    "trusts no certificate that nobody has issued",
    async () => {
      let asked = 0;
      const server = https.createServer(ownCertificate(), () => {
        asked += 1;
      });
      const { url } = await serve(server, "https");
      expect(await message(openLine({ url, token }))).toBe(
        `the certificate of ${url} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT); name its issuer's file in NODE_EXTRA_CA_CERTS`,
      );
      expect(asked).toBe(0);
    },
  );
});

describe("the way that is taken", () => {
  const node = { env: {}, versions: process.versions, release: { name: "node" }, getBuiltinModule: () => http };

  it("is node:http on Node, and fetch wherever that knows better or there is nothing else", () => {
    expect(sendByTheBestWay()).not.toBe(sendByFetch);
    expect(sendByTheBestWay(node)).not.toBe(sendByFetch);
    for (const other of [
      { ...node, env: { NODE_USE_ENV_PROXY: "1" } },
      { ...node, versions: { ...process.versions, bun: "1.3.0" } },
      { ...node, versions: { ...process.versions, deno: "2.5.0" } },
      { ...node, release: {} },
      { ...node, execArgv: ["--use-env-proxy"] },
      { ...node, getBuiltinModule: () => undefined },
      { env: {} },
    ])
      expect(sendByTheBestWay(other)).toBe(sendByFetch);
  });
});

function ownCertificate(): { cert: Buffer; key: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), "rouse-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const made = spawnSync("openssl", ["req", "-x509", ...kind, "-keyout", key, "-out", cert, ...subject]);
  expect(made.status, String(made.stderr)).toBe(0);
  const pair = { cert: readFileSync(cert), key: readFileSync(key) };
  rmSync(folder, { recursive: true });
  return pair;
}
