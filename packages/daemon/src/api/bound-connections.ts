import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Socket } from "node:net";

interface ConnectionBounds {
  /** All connections. The rest of the open files is for the database, holders and logs. */
  readonly all: number;
  /**
   * Connections without a right token yet: more than are accepted at once, or returning agents would evict each other.
   */
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
 * Keeps room for clients with a token: when there are too many connections without one, the oldest of them is closed.
 * Returns what to call with the connection of each request that has shown a right token.
 */
export function boundConnections(server: Server, bounds: ConnectionBounds): (connection: Socket) => void {
  // By remote address and port: under TLS the connection of a request is not the object that was accepted.
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
