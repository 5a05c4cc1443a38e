import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ExitStatus, Fault, type HolderInfo, type HolderRefusal, type HolderReport } from "@rouse/contract";
import type { Admission } from "../protocol/admit-monitors.ts";
import { createFrameReader, type Frame, jsonFrame } from "../protocol/frames.ts";
import { isSecret } from "../protocol/holder-files.ts";
import { type FromHolder, readMessage, type Size, type ToHolder } from "../protocol/messages.ts";
import type { WatchSettings } from "../protocol/spec.ts";
import type { Reports } from "../watch/keep-reports.ts";
import type { Orders } from "./obey-orders.ts";
import { type OutputSource, showFrom, showScreen, type Viewer } from "./show-output.ts";

/** What peers can ask for. */
interface Desk {
  readonly hold: HolderInfo;
  readonly secret: string;
  readonly admission: Admission;
  readonly reports: Reports;
  readonly orders: Orders;
  readonly output: OutputSource;
  exit(): ExitStatus | null;
  /** The screen as text; `null` when the agent has no terminal. */
  readonly paint: (() => Promise<string>) | null;
  type(bytes: Buffer): void;
  /** A terminal was attached, detached or resized. Returns the resulting size. */
  attachedChanged(): Size;
  settings(settings: WatchSettings): void;
  /** Reports what is true now. */
  look(): void;
  /** A monitor has saved all reports up to `seq`. */
  heard(seq: number): void;
}

interface Peer {
  readonly socket: Socket;
  /** It has shown the secret. Peers that have not are told nothing and can order nothing. */
  proven: boolean;
  /** The store it keeps; `null`: a person. */
  store: string | null;
  viewer: Viewer | null;
  size: Size | null;
}

const mostPeers = 64;
/** A monitor that leaves this many bytes unread is not reading; it will ask again for the reports it missed. */
const mostUnread = 4 * 1024 * 1024;
const partingMs = 1000;
/** A peer is refused that has not shown the secret by then, or sends more: it takes a place from others. */
const proveWithinMs = 5000;
const longestHello = 4096;

export function listenAt(path: string): Promise<Server> {
  rmSync(path, { force: true }); // left by an earlier holder of the same name
  const server = createServer();
  server.maxConnections = mostPeers;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      chmodSync(path, 0o600); // its folder is closed to everybody else already
      server.off("error", reject);
      server.on("error", () => {}); // out of descriptors: new peers are turned away, the agent goes on
      resolve(server);
    });
  });
}

export function serve(server: Server, desk: Desk) {
  const peers = new Set<Peer>();
  let monitor: Peer | null = null;
  server.on("connection", welcome);

  function welcome(socket: Socket): void {
    const peer: Peer = { socket, proven: false, store: null, viewer: null, size: null };
    peers.add(peer);
    const patience = setTimeout(() => peer.proven || refuse(peer, "wrong-secret"), proveWithinMs);
    const read = createFrameReader((frame) => take(peer, frame));
    socket.on("data", (chunk) => {
      try {
        read(chunk);
        if (!peer.proven && socket.bytesRead > longestHello) refuse(peer, "wrong-secret");
      } catch (error) {
        misunderstand(peer, (error as Error).message);
      }
    });
    socket.on("error", () => {}); // `close` follows
    socket.on("close", () => {
      clearTimeout(patience);
      part(peer);
    });
  }

  function part(peer: Peer): void {
    peers.delete(peer);
    if (monitor === peer) monitor = null;
    if (peer.size !== null) desk.attachedChanged();
  }

  function take(peer: Peer, frame: Frame): void {
    if (peer.socket.writableEnded) return;
    if (!peer.proven) return greet(peer, frame);
    switch (frame.kind) {
      case "json": {
        const message = readMessage(frame.value);
        return message === null ? misunderstand(peer, "no message of ours") : answer(peer, message);
      }
      case "input":
        return peer.size === null ? misunderstand(peer, "typed without being attached") : desk.type(frame.bytes);
      case "output":
        return misunderstand(peer, "output goes the other way");
    }
  }

  function greet(peer: Peer, frame: Frame): void {
    const hello = frame.kind === "json" ? readMessage(frame.value) : null;
    if (hello?.say !== "hello" || !isSecret(hello.secret, desk.secret)) return refuse(peer, "wrong-secret");
    const because = hello.monitor === null ? null : desk.admission.refuses(hello.monitor);
    if (because !== null) return refuse(peer, because);
    peer.proven = true;
    peer.store = hello.monitor?.store ?? null;
    say(peer, { say: "welcome" });
  }

  function refuse(peer: Peer, because: HolderRefusal): void {
    if (monitor === peer) monitor = null;
    say(peer, { say: "refused", because });
    peer.socket.end();
  }

  function answer(peer: Peer, message: ToHolder): void {
    switch (message.say) {
      case "hello":
        return misunderstand(peer, "one hello is enough");
      case "adopt":
        return beAdopted(peer, message.store);
      case "probe":
        return say(peer, {
          say: "here",
          id: message.id,
          hold: desk.hold,
          exit: desk.exit(),
          outputEnd: desk.output.end(),
          lastReport: desk.reports.lastSeq(),
          store: desk.admission.store(),
          epoch: desk.admission.epoch(),
        });
      case "watch":
        return beWatched(peer, message.epoch, message.after);
      case "heard":
        return peer === monitor ? desk.heard(message.seq) : undefined;
      case "settings":
        return peer === monitor ? desk.settings(message.settings) : undefined;
      case "look":
        return peer === monitor ? desk.look() : undefined;
      case "order": {
        const { key } = message;
        return void desk.orders
          .obey({ ...message, store: peer.store })
          .then((outcome) => say(peer, { say: "carried-out", key, outcome }));
      }
      case "read":
        return beRead(peer, message.from ?? 0, message.follow);
      case "attach":
        return attach(peer, message.size);
      case "resize":
        if (peer.size === null) return misunderstand(peer, "resized without being attached");
        peer.size = message.size;
        return void desk.attachedChanged();
    }
  }

  function beWatched(peer: Peer, epoch: number, after: number): void {
    if (peer.store === null) return misunderstand(peer, "only a monitor watches");
    const because = desk.admission.refuses({ store: peer.store, epoch });
    if (because !== null) return refuse(peer, because);
    if (monitor !== null && monitor !== peer) dismiss(monitor);
    monitor = peer;
    say(peer, { say: "watched", hold: desk.hold, knowsLook: true });
    for (const report of desk.reports.after(after)) say(peer, { say: "report", report });
    const exit = desk.exit();
    if (exit !== null) say(peer, { say: "exited", exit });
  }

  /** The former monitor is disconnected; its next attempt is refused with the reason. */
  function beAdopted(peer: Peer, store: string): void {
    if (peer.store !== null) return misunderstand(peer, "only a person hands an agent over");
    desk.admission.adopt(store);
    if (monitor !== null) dismiss(monitor);
    say(peer, { say: "adopted" });
  }

  function dismiss(peer: Peer): void {
    if (monitor === peer) monitor = null;
    say(peer, { say: "replaced" });
    peer.socket.end();
  }

  function beRead(peer: Peer, from: number, follow: boolean): void {
    if (peer.viewer !== null) return misunderstand(peer, "one stream of output at a time");
    const over = desk.exit() !== null;
    peer.viewer = showFrom(peer.socket, desk.output, from, follow && !over, (at) => {
      say(peer, { say: "end", at });
      peer.viewer = null;
    });
  }

  function attach(peer: Peer, size: Size): void {
    if (desk.paint === null) return misunderstand(peer, "it has no terminal of its own: it runs between pipes");
    if (peer.viewer !== null) return misunderstand(peer, "one stream of output at a time");
    peer.size = size;
    say(peer, { say: "attached", size: desk.attachedChanged() });
    peer.viewer = showScreen(peer.socket, desk.output.end, desk.paint);
    const exit = desk.exit();
    if (exit !== null) void peer.viewer.ended().then(() => say(peer, { say: "exited", exit }));
  }

  function misunderstand(peer: Peer, problem: string): void {
    if (!peer.proven) return refuse(peer, "wrong-secret");
    say(peer, { say: "misunderstood", problem });
    peer.socket.end();
  }

  function say(peer: Peer, message: FromHolder): void {
    if (peer.socket.writable && !peer.socket.writableEnded) peer.socket.write(jsonFrame(message));
  }

  return {
    /** Sizes of all terminals attached over the socket. */
    sizes: (): readonly Size[] => [...peers].flatMap(({ size }) => size ?? []),
    watched: () => monitor !== null,
    wrote(offset: number, bytes: Buffer): void {
      for (const { viewer } of peers) viewer?.wrote(offset, bytes);
    },
    report(report: HolderReport): void {
      if (monitor === null) return;
      if (monitor.socket.writableLength > mostUnread) monitor.socket.destroy();
      else say(monitor, { say: "report", report });
    },
    /** Each peer is told once all output was handed to its socket. */
    async exited(exit: ExitStatus): Promise<void> {
      const tell = async (peer: Peer) => {
        await peer.viewer?.ended();
        say(peer, { say: "exited", exit });
      };
      await Promise.all([...peers].filter(({ proven }) => proven).map(tell));
    },
    /** Waits a moment for what is still being sent. */
    async close(): Promise<void> {
      server.close();
      const parting = [...peers].map(
        ({ socket }) =>
          new Promise<void>((resolve) => {
            const patience = setTimeout(() => socket.destroy(), partingMs);
            socket.once("close", () => {
              clearTimeout(patience);
              resolve();
            });
            socket.end();
          }),
      );
      await Promise.all(parting);
    },
  };
}

/** A socket's path has 108 bytes at most on Linux, 104 elsewhere. */
const longestPath = 100;

/** In the agent's folder. Where that path is too long, in a private folder below the one for temporary files. */
export function placeSocket(folder: string): string {
  const path = join(folder, "socket");
  if (Buffer.byteLength(path) <= longestPath) return path;
  const uid = process.getuid?.() ?? 0;
  const shared = join(tmpdir(), `rouse-${uid}`);
  mkdirSync(shared, { recursive: true, mode: 0o700 });
  // Anybody can create folders there: one of another user, or a link, may be a trap.
  const found = lstatSync(shared);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw new Fault(
      "data-folder-unusable",
      `${shared} is not a folder of ours alone; remove it or set TMPDIR to another`,
    );
  }
  return join(shared, `${randomBytes(8).toString("hex")}.sock`);
}

const lookMs = 50;

/**
 * Waits until a monitor has heard of the end, or none will. In front of `rouse run` a person waits; nobody waits for a
 * detached holder. A monitor that comes later finds the exit file.
 */
export async function linger(foreground: boolean, isHeard: () => boolean, isWatched: () => boolean): Promise<void> {
  /** For a monitor that is connected, and for one to come. */
  const { watchedMs, aloneMs } = foreground ? { watchedMs: 2000, aloneMs: 0 } : { watchedMs: 60_000, aloneMs: 2000 };
  const begun = performance.now();
  let aloneSince = begun;
  while (!isHeard()) {
    const now = performance.now();
    if (isWatched()) aloneSince = now;
    if (now - begun >= watchedMs || (!isWatched() && now - aloneSince >= aloneMs)) return;
    await pause(lookMs);
  }
}
