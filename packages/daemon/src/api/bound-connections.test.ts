import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { boundConnections, boundsFor } from "./bound-connections.ts";

let server: Server;
let opened: Socket[];

beforeEach(async () => {
  opened = [];
  server = createServer();
  const admit = boundConnections(server, { all: 250, strangers: 200 });
  server.on("request", (request, response) => {
    if (request.headers.authorization !== undefined) admit(request.socket);
    response.end("fine");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(() => {
  for (const socket of opened) socket.destroy();
  server.closeAllConnections();
  server.close();
});

async function open(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  opened.push(socket);
  socket.on("error", () => {});
  const accepted = once(server, "connection");
  await Promise.all([once(socket, "connect"), accepted]);
  return socket;
}

async function ask(socket: Socket): Promise<string> {
  socket.write("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer right\r\n\r\n");
  const [answer] = (await once(socket, "data")) as [Buffer];
  return answer.toString();
}

describe("connections", () => {
  it("of strangers give way, the oldest first, and those with a token stay and get in", async () => {
    const agent = await open();
    await ask(agent);
    const first = await open();
    const gone = once(first, "close");
    for (let n = 0; n < 400; n++) await open();
    await gone;
    expect(await ask(agent)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask(await open())).toMatch(/^HTTP\/1\.1 200 /);
    expect(opened.at(-2)?.destroyed).toBe(false);
  });

  it("that were closed count no more", async () => {
    const patient = await open();
    for (let n = 0; n < 300; n++) {
      const accepted = once(server, "connection") as Promise<[Socket]>;
      (await open()).destroy();
      const [theirs] = await accepted;
      if (!theirs.destroyed) await once(theirs, "close");
    }
    expect(await ask(patient)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("of those with a token are bounded, too, and none of them gives way", async () => {
    for (let n = 0; n < 250; n++) await ask(await open());
    const dropped = once(server, "drop");
    opened.push(connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {}));
    await dropped;
    expect(opened.slice(0, 250).filter(({ closed }) => closed)).toEqual([]);
  });

  it("are fewer than the files that may be open, by what the rest of Rouse needs", () => {
    expect(boundsFor(1024)).toEqual({ all: 768, strangers: 256 });
    expect(boundsFor(1_000_000)).toEqual({ all: 750_000, strangers: 1024 });
  });
});
