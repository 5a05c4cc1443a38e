import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Socket } from "node:net";

interface ConnectionBounds {
  /** Of all kinds. What is left of the open files is for the database, holders and logs. */
  readonly all: number;
  /** Those on which no right token has come yet. More than can be accepted at once, or agents that come back together would push each other out. */
  readonly strangers: number;
}

export function boundsFor(openFiles: number): ConnectionBounds {
  return { all: Math.floor(openFiles * 0.75), strangers: Math.min(1024, Math.floor(openFiles / 4)) };
}

/** How many files this process may have open; a cautious guess where the system does not say. */
export function readOpenFiles(): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? 1024 : Number(limit);
  } catch {
    return 1024;
  }
}

/**
 * Keeps room for those who belong here, whoever else connects: when there are too many strangers, the one that has been there longest is hung up on, so
 * that whoever comes and shows a token at once gets in. Returns what to call with the connection of each request that has shown one.
 */
export function boundConnections(server: Server, bounds: ConnectionBounds): (connection: Socket) => void {
  // By their other end: under TLS the connection of a request is not the object that was accepted.
  const strangers = new Map<string, Socket>();
  const admitted = new WeakSet<Socket>();
  server.maxConnections = bounds.all;
  server.on("connection", (socket: Socket) => {
    const end = otherEndOf(socket);
    strangers.set(end, socket);
    socket.once("close", () => {
      if (strangers.get(end) === socket) strangers.delete(end);
    });
    if (strangers.size <= bounds.strangers) return;
    const [oldest] = strangers;
    if (oldest === undefined) return;
    strangers.delete(oldest[0]);
    oldest[1].destroy();
  });
  return (connection) => {
    if (admitted.has(connection)) return;
    admitted.add(connection);
    strangers.delete(otherEndOf(connection));
  };
}

const otherEndOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
