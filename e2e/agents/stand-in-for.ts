import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { afterwards } from "../clean-up.ts";

/** What a program is told so that it takes somebody on loopback for the host. */
export interface StandIn {
  readonly proxy: string;
  /** A file with the certificate that it has to trust. */
  readonly certificate: string;
}

/**
 * A proxy that answers for one host, by passing everything on to an address on loopback, and lets nobody through to
 * any other: for programs that ask a fixed address. The certificate is made for this once and trusted by nobody else.
 */
export async function standInFor(host: string, folder: string, to: string): Promise<StandIn> {
  const [key, certificate] = [join(folder, "stand-in.key"), join(folder, "stand-in.pem")];
  const names = ["-subj", `/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`];
  const files = ["-keyout", key, "-out", certificate];
  const words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", ...files, ...names];
  execFileSync("openssl", words, { stdio: "ignore" });
  const identity = { isServer: true, key: readFileSync(key), cert: readFileSync(certificate) };
  const server = createServer((asked, response) => passOn(asked, response, to));
  server.on("connect", ({ url }, socket) => {
    if (url !== `${host}:443`) return socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    socket.on("error", () => {});
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const secure = new TLSSocket(socket, identity);
    secure.on("error", () => {});
    server.emit("connection", secure);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  afterwards(() => {
    server.close();
    server.closeAllConnections();
  });
  return { proxy: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, certificate };
}

function passOn(asked: IncomingMessage, response: ServerResponse, to: string): void {
  const further = request(`${to}${asked.url}`, { method: asked.method ?? "GET" }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, { "content-type": answer.headers["content-type"] ?? "text/plain" });
    answer.pipe(response);
  });
  further.on("error", () => response.destroy());
  asked.pipe(further);
}
