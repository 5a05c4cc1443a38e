import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Connection, recogniseCaller } from "./recognise-caller.ts";

const callers: ChildProcess[] = [];
const accepted: Socket[] = [];
let server: Server;
beforeAll(async () => {
  server = createServer((socket) => {
    accepted.push(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
});
afterEach(() => {
  for (const child of callers.splice(0)) child.kill("SIGKILL");
});
afterAll(() => {
  for (const socket of accepted) socket.destroy();
  server.close();
});

const to = (): number => (server.address() as AddressInfo).port;
const connectionOf = ({ remotePort = 0 }: Socket): Connection => ({ from: remotePort, to: to() });

async function accept(): Promise<Socket> {
  return new Promise((resolve) => server.once("connection", resolve));
}

/** A process that connects when it is told to, from the address and port it is told, and says when. */
function startCaller(): { pid: number; calls(from?: { address: string; port: number }): Promise<Socket> } {
  const program = `process.stdin.on("data", (line) => {
    const [host, localAddress, localPort] = JSON.parse(line);
    require("node:net").createConnection({ host, port: ${to()}, ...(localAddress && { localAddress, localPort }) }).on("error", () => process.exit(1));
  })`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["pipe", "ignore", "inherit"] });
  callers.push(child);
  return {
    pid: child.pid ?? 0,
    async calls(from) {
      const next = accept();
      child.stdin.write(JSON.stringify(["127.0.0.1", from?.address, from?.port]));
      return next;
    },
  };
}

describe("a call", () => {
  it("is the program's own when its process has the connection open, and nobody else's is", async () => {
    const [program, tool] = [startCaller(), startCaller()];
    const callerOf = recogniseCaller(() => [program.pid]);
    expect(callerOf(connectionOf(await program.calls()))).toBe("program");
    expect(callerOf(connectionOf(await tool.calls()))).toBe("somebody-else");
    expect(callerOf(connectionOf(await program.calls()))).toBe("program");
  });

  it("comes from whoever called first, as long as that lives, whoever else could be the program", async () => {
    const [program, other] = [startCaller(), startCaller()];
    const callerOf = recogniseCaller(() => [program.pid, other.pid]);
    expect(callerOf(connectionOf(await program.calls()))).toBe("program");
    expect(callerOf(connectionOf(await other.calls()))).toBe("somebody-else");
    const child = callers.find(({ pid }) => pid === program.pid);
    const ended = new Promise((resolve) => child?.once("exit", resolve));
    child?.kill("SIGKILL");
    await ended;
    expect(callerOf(connectionOf(await other.calls()))).toBe("program");
  });

  it("is not taken for the program's because it comes from the same port of another address", async () => {
    const [program, tool] = [startCaller(), startCaller()];
    const callerOf = recogniseCaller(() => [tool.pid]);
    const own = connectionOf(await program.calls());
    const borrowed = await tool.calls({ address: "127.0.0.2", port: own.from });
    expect(connectionOf(borrowed)).toEqual(own);
    expect(callerOf(own)).toBe("somebody-else");
  });

  it("is nobody's when it is over already", async () => {
    const client = createConnection(to(), "127.0.0.1");
    const socket = await accept();
    const connection = connectionOf(socket);
    const callerOf = recogniseCaller(() => [process.pid]);
    expect(callerOf(connection)).toBe("program");
    client.destroy();
    await new Promise((resolve) => socket.once("close", resolve).resume());
    expect(callerOf(connection)).toBe("somebody-else");
  });

  it("may be anybody's where nobody can look", () => {
    const empty = mkdtempSync(join(tmpdir(), "rouse-proc-"));
    expect(recogniseCaller(() => [process.pid], empty)({ from: 1, to: 2 })).toBe("unknown");
    rmSync(empty, { recursive: true });
  });
});
