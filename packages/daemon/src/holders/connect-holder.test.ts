import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFrameReader, type Frame, type FromHolder, jsonFrame, type ToHolder } from "@rouse/holder";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { outputHeader } from "../../../holder/src/protocol/frames.ts";
import { readMessage } from "../../../holder/src/protocol/messages.ts";
import { connectHolder, type HolderConnection, type OrderToHolder } from "./connect-holder.ts";

const understood = (value: unknown): ToHolder => readMessage(value) ?? expect.fail("no message to a holder");

let folder = "";
let path = "";
let server: Server | null = null;
let open: Socket[] = [];
let connection: HolderConnection | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-socket-"));
  path = join(folder, "socket");
});

afterEach(async () => {
  connection?.close();
  for (const socket of open) socket.destroy();
  open = [];
  if (server !== null) await new Promise((resolve) => server?.close(resolve));
  server = null;
  rmSync(folder, { recursive: true });
});

/** Somebody listens on the socket and does with each frame as told. */
async function listen(take: (frame: Frame, socket: Socket) => void): Promise<void> {
  const opened = createServer((socket) => {
    open.push(socket);
    socket.on("error", () => undefined);
    socket.on(
      "data",
      createFrameReader((frame) => take(frame, socket)),
    );
  });
  server = opened;
  await new Promise<void>((resolve) => opened.listen(path, resolve));
}

const send = (socket: Socket, message: FromHolder) => void socket.write(jsonFrame(message));
const hold: Extract<FromHolder, { say: "here" }>["hold"] = {
  agentId: "worker-1",
  agentType: null,
  taskId: null,
  incarnation: 3,
  pid: 4242,
  family: "generic",
  structured: false,
  foreground: false,
  startedAt: 1,
  policy: null,
};
const here = (id: number): FromHolder => ({ say: "here", id, hold, exit: null, outputEnd: 7, lastReport: 2 });
const stop = (key: string): OrderToHolder => ({ key, incarnation: 3, epoch: 1, order: { kind: "stop", graceMs: 10 } });
const connectTo = async (timeoutMs = 5000) =>
  (connection = await connectHolder({ socket: path, secret: null }, { timeoutMs }));

function messageOf(frame: Frame): ToHolder {
  if (frame.kind !== "json") throw new Error(`expected a message, not ${frame.kind}`);
  return understood(frame.value);
}

describe("a connection to a holder", () => {
  it("gives each question its own answer, in whatever order they come", async () => {
    const held: [ToHolder, Socket][] = [];
    await listen((frame, socket) => {
      held.push([messageOf(frame), socket]);
      if (held.length < 4) return;
      for (const [message, to] of held.reverse()) {
        if (message.say === "probe") send(to, here(message.id));
        if (message.say !== "order") continue;
        const forced = message.key === "b";
        send(to, { say: "carried-out", key: message.key, outcome: { kind: "stopped", forced, processes: 1 } });
      }
    });
    const to = await connectTo();
    const answers = await Promise.all([to.probe(), to.probe(), to.order(stop("a"), 5000), to.order(stop("b"), 5000)]);
    expect(answers).toMatchObject([{ id: 1, outputEnd: 7 }, { id: 2 }, { forced: false }, { forced: true }]);
  });

  it("carries messages and output as they come, and what is typed the other way", async () => {
    const typed: string[] = [];
    await listen((frame, socket) => {
      if (frame.kind === "input") return void typed.push(frame.bytes.toString());
      if (messageOf(frame).say !== "read") return;
      socket.write(Buffer.concat([outputHeader(40, 5), Buffer.from("hello"), jsonFrame({ say: "end", at: 45 })]));
    });
    const to = await connectTo();
    const heard: unknown[] = [];
    const ended = new Promise<void>((resolve) => {
      to.onOutput((offset, bytes) => heard.push([offset, bytes.toString()]));
      to.onMessage((message) => {
        heard.push(message);
        if (message.say === "end") resolve();
      });
    });
    to.typed(Buffer.from("y\r"));
    to.say({ say: "read", from: 40, follow: false });
    await ended;
    expect(heard).toEqual([[40, "hello"], { say: "end", at: 45 }]);
    expect(typed).toEqual(["y\r"]);
  });

  it("is refused as holder-gone where nobody listens, and as holder-unreachable where something else is", async () => {
    await expect(connectTo()).rejects.toMatchObject({ code: "holder-gone" });
    await listen(() => undefined);
    // As a killed holder leaves it: the socket is there, nobody behind it.
    await new Promise((resolve) => server?.close(resolve));
    server = null;
    writeFileSync(path, "");
    await expect(connectTo()).rejects.toMatchObject({ code: "holder-gone" });
    await expect(connectHolder({ socket: folder, secret: null }, { timeoutMs: 1000 })).rejects.toMatchObject({
      code: expect.stringMatching(/^holder-/),
    });
  });

  it("is broken off when the other side talks nonsense, and whoever waits is told", async () => {
    const nonsense: Buffer[] = [
      Buffer.from("HTTP/1.1 400\r\n"),
      jsonFrame({ say: "hello" }),
      jsonFrame({ say: "here", id: "x" }),
    ];
    await listen((_, socket) => void socket.write(nonsense.shift() ?? ""));
    for (let count = 0; count < 3; count++) {
      const to = await connectTo();
      await expect(to.probe()).rejects.toMatchObject({ code: "holder-unreachable", retryable: true });
      expect(await to.closed).toMatchObject({ code: "holder-unreachable" });
      await expect(to.probe()).rejects.toMatchObject({ code: "holder-unreachable" });
    }
  });

  it("tells whoever waits when the holder hangs up, does not answer, or did not understand", async () => {
    const replies: ((socket: Socket) => void)[] = [
      (socket) => socket.end(),
      () => undefined,
      (socket) => send(socket, { say: "misunderstood", problem: "no such order" }),
    ];
    await listen((_, socket) => replies.shift()?.(socket));
    const first = await connectTo();
    await expect(first.order(stop("a"), 5000)).rejects.toMatchObject({ code: "holder-gone" });
    expect(await first.closed).toBeNull();
    const second = await connectTo();
    await expect(second.probe(20)).rejects.toThrow("did not answer within 20 ms");
    await expect(second.probe()).rejects.toThrow("no such order");
    second.close();
    expect(await second.closed).toBeNull();
  });
});

describe("a look anew", () => {
  it.for([
    ["is asked of a holder that knows it", true],
    ["is not asked of one of an earlier version, which would hang up", undefined],
  ] as const)("%s", async ([, knowsLook]) => {
    const heard: ToHolder["say"][] = [];
    await listen((frame, socket) => {
      const message = understood(frame.kind === "json" ? frame.value : null);
      heard.push(message.say);
      if (message.say === "watch") send(socket, { say: "watched", hold, ...(knowsLook && { knowsLook }) });
      if (message.say === "probe") send(socket, here(message.id));
    });
    const line = await connectTo();
    line.lookAnew();
    line.say({ say: "watch", epoch: 1, after: 0 });
    await line.probe();
    line.lookAnew();
    await line.probe();
    expect(heard).toEqual(["watch", "probe", ...(knowsLook ? ["look"] : []), "probe"]);
  });
});
