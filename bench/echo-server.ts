import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The least a Node server can do with a heartbeat: read the body and send it back. What we are compared with. */
export function startEchoServer(port: number, onListening: (port: number) => void): void {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      response.writeHead(200, { "content-type": "application/json", "content-length": body?.length ?? 0 });
      response.end(body);
    });
  });
  server.keepAliveTimeout = 75_000;
  server.listen(port, "127.0.0.1", () => onListening((server.address() as AddressInfo).port));
}
