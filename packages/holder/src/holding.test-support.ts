import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { readOutput } from "./output/read-output.ts";
import { isSame } from "./processes/read-processes.ts";
import { createFrameReader, inputFrame, jsonFrame } from "./protocol/frames.ts";
import { type HolderFiles, holderFiles, readSecret } from "./protocol/holder-files.ts";
import type { FromHolder, ToHolder } from "./protocol/messages.ts";
import type { ExitFile, HolderFile, ProcessId, Spec } from "./protocol/spec.ts";
import { startHolder } from "./start-holder.ts";

/** A data folder of its own; nobody held there outlives the test. */
export interface World {
  readonly home: string;
  files(agentId?: string): HolderFiles;
  spec(command: readonly string[], changes?: Partial<Spec>): Spec;
  start(spec: Spec): Promise<HolderFile>;
  /** The holder is gone; how the agent ended. */
  ended(held: HolderFile): Promise<ExitFile>;
  /** Everything the agent wrote that is still kept. */
  output(agentId?: string): Buffer;
  /** Introduces itself with its first message: as a monitor when that has an epoch, otherwise as a person. */
  connect(held: HolderFile): Promise<Client>;
  /** Somebody who says only what they are told to say. */
  stranger(held: HolderFile): Promise<Client>;
  remove(): Promise<void>;
}

export interface Client {
  readonly heard: readonly FromHolder[];
  /** Output frames put together; fails when a byte is missing or comes twice. */
  output(): Buffer;
  readonly frames: readonly { offset: number; bytes: Buffer }[];
  say(message: ToHolder): void;
  send(bytes: Buffer): void;
  type(text: string): void;
  hear<S extends FromHolder["say"]>(say: S, wanted?: (message: Said<S>) => boolean): Promise<Said<S>>;
  shows(text: string): Promise<void>;
  closed(): Promise<void>;
  readonly socket: Socket;
}

type Said<S> = Extract<FromHolder, { say: S }>;

/** The database that monitors in tests keep. */
export const storeOfTests = "store-of-tests";

/** Waits for a condition, not for a time. */
export async function until(
  condition: () => boolean,
  what: string | (() => string),
  withinMs = 100_000,
): Promise<void> {
  const end = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`waited in vain: ${typeof what === "string" ? what : what()}`);
    await pause(10);
  }
}

export function openWorld(holderFile: URL, home = mkdtempSync(join(tmpdir(), "rouse-holder-"))): World {
  const files = (agentId = "a1") => holderFiles(home, agentId);
  const started: HolderFile[] = [];
  const clients: Client[] = [];
  return {
    home,
    files,
    spec: (command, changes = {}) => ({
      agentId: "a1",
      agentType: null,
      taskId: null,
      policy: null,
      incarnation: 1,
      command: [...command],
      cwd: home,
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: home },
      io: "terminal",
      foreground: false,
      family: "generic",
      structured: false,
      cols: 80,
      rows: 24,
      keepBytes: 1024 * 1024,
      watch: { patterns: [], completionMarker: "<promise>COMPLETE</promise>" },
      ...changes,
    }),
    async start(spec) {
      const held = await startHolder(home, spec, { holderFile });
      started.push(held);
      return held;
    },
    async ended(held) {
      await hearTheEnd(held, files(held.agentId));
      await until(() => !isSame(held.holder), "the holder leaves");
      return JSON.parse(readFileSync(files(held.agentId).exit, "utf8")) as ExitFile;
    },
    output: (agentId) => readAll(files(agentId)),
    async connect(held) {
      const client = await connectTo(held.socket, readSecret(files(held.agentId).secret));
      clients.push(client);
      return client;
    },
    async stranger(held) {
      const client = await connectTo(held.socket, null);
      clients.push(client);
      return client;
    },
    async remove() {
      for (const { socket } of clients) socket.destroy();
      for (const { holder, agent } of started) for (const id of [agent, holder]) if (id !== null) kill(id);
      for (const { holder } of started) await until(() => !isSame(holder), "a killed holder is gone");
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** As a monitor does; a holder that nobody hears stays a while. */
async function hearTheEnd({ socket }: HolderFile, files: HolderFiles): Promise<void> {
  const monitor = await connectTo(socket, readSecret(files.secret)).catch(() => null);
  if (monitor === null) return;
  monitor.say({ say: "watch", epoch: 1000, after: 0 });
  const { report } = await monitor.hear("report", ({ report }) => report.exit !== null);
  monitor.say({ say: "heard", seq: report.seq });
  await monitor.closed();
}

export function kill(id: ProcessId): void {
  if (isSame(id)) process.kill(id.pid, "SIGKILL");
}

export const readHolderFile = (files: HolderFiles): HolderFile | null =>
  existsSync(files.holder) ? (JSON.parse(readFileSync(files.holder, "utf8")) as HolderFile) : null;

function readAll(files: HolderFiles): Buffer {
  const pieces: Buffer[] = [];
  for (let from: number | null = null; ; ) {
    const piece = readOutput(files, { from, limit: 1024 * 1024 });
    if (piece === null || piece.bytes.length === 0) return Buffer.concat(pieces);
    pieces.push(piece.bytes);
    from = piece.from + piece.bytes.length;
  }
}

async function connectTo(path: string, secret: string | null): Promise<Client> {
  const socket = connect(path);
  await once(socket, "connect");
  const heard: FromHolder[] = [];
  const frames: { offset: number; bytes: Buffer }[] = [];
  let closed = false;
  const read = createFrameReader((frame) => {
    if (frame.kind === "json") hearOne(frame.value as FromHolder);
    if (frame.kind === "output") frames.push({ offset: frame.offset, bytes: Buffer.from(frame.bytes) });
  });
  const hearOne = (message: FromHolder): void => {
    if (secret === null || message.say !== "welcome") heard.push(message);
  };
  let greeted = secret === null;
  const greet = (epoch: number | null): void => {
    if (greeted || secret === null) return;
    greeted = true;
    const monitor = epoch === null ? null : { store: storeOfTests, epoch };
    socket.write(jsonFrame({ say: "hello", secret, monitor } satisfies ToHolder));
  };
  socket.on("data", read);
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
  });
  return {
    socket,
    heard,
    frames,
    output() {
      for (const [index, { offset }] of frames.entries()) {
        const before = frames[index - 1];
        const wanted = before === undefined ? offset : before.offset + before.bytes.length;
        if (offset !== wanted) throw new Error(`output at ${offset} instead of ${wanted}`);
      }
      return Buffer.concat(frames.map(({ bytes }) => bytes));
    },
    say(message) {
      greet("epoch" in message ? message.epoch : null);
      socket.write(jsonFrame(message));
    },
    send(bytes) {
      greet(null);
      socket.write(bytes);
    },
    type(text) {
      greet(null);
      socket.write(inputFrame(Buffer.from(text)));
    },
    async hear<S extends FromHolder["say"]>(say: S, wanted: (message: Said<S>) => boolean = () => true) {
      const find = () => heard.find((each): each is Said<S> => each.say === say && wanted(each as Said<S>));
      await until(
        () => find() !== undefined,
        () => `${say}; heard ${JSON.stringify(heard).slice(0, 2000)}`,
      );
      return find() as Said<S>;
    },
    shows(text) {
      // Only what is new, and a little before it: all of it again and again would keep us from reading on.
      let seen = 0;
      return until(
        () => {
          const recent = frames.slice(Math.max(0, seen - 50));
          seen = frames.length;
          return Buffer.concat(recent.map(({ bytes }) => bytes)).includes(text);
        },
        `${JSON.stringify(text)} is shown`,
      );
    },
    closed: () => until(() => closed, "the connection is closed"),
  };
}

/** Runs something else than an agent to its end. */
export async function run(
  command: string,
  args: readonly string[],
  options = {},
): Promise<{ code: number | null; out: Buffer }> {
  const child: ChildProcess = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], ...options });
  const out: Buffer[] = [];
  child.stdout?.on("data", (bytes: Buffer) => out.push(bytes));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out: Buffer.concat(out) };
}
