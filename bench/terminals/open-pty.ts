import { closeSync, constants, openSync, readSync } from "node:fs";
import type { ReadStream } from "node:tty";
import { spawn } from "@lydell/node-pty";

export interface Pty {
  readonly pid: number;
  /** Its exit code, once everything it wrote was taken. */
  readonly ended: Promise<number>;
  write(bytes: Buffer): void;
  pause(): void;
  resume(): void;
  kill(signal: NodeJS.Signals): void;
}

interface PtySetting {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cols: number;
  readonly rows: number;
}

/** What node-pty 1.1.0 keeps to itself. */
interface Inside {
  readonly _pty: string;
  readonly _fd: number;
  readonly _socket: ReadStream;
  _emittedClose: boolean;
}

/** A command in a pseudo-terminal, and no more than it takes to lose none of its output. */
export function openPty(command: readonly string[], setting: PtySetting, take: (bytes: Buffer) => void): Pty {
  const [file = "", ...args] = command;
  const terminal = spawn(file, args, { ...setting, name: "xterm-256color", encoding: null });
  const inside = terminal as unknown as Inside;
  const socket = inside._socket;
  // While nobody has the other side open, libuv throws away what was not read yet.
  const otherSide = openSync(inside._pty, constants.O_RDWR | constants.O_NOCTTY);
  // Otherwise it waits for a close that the line above keeps from coming.
  inside._emittedClose = true;
  socket.on("data", take);
  socket.on("error", () => {}); // the terminal is gone; the exit code is still to come
  const ended = new Promise<number>((resolve) => {
    terminal.onExit(({ exitCode, signal = 0 }) => {
      socket.pause();
      while (socket.read() !== null); // what was held back comes as `data`
      takeRest(inside._fd, take);
      closeSync(otherSide);
      socket.destroy();
      resolve(signal === 0 ? exitCode : 128 + signal);
    });
  });
  return {
    pid: terminal.pid,
    ended,
    write: (bytes) => void socket.write(bytes),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    kill: (signal) => terminal.kill(signal),
  };
}

function takeRest(fd: number, take: (bytes: Buffer) => void): void {
  for (;;) {
    const bytes = Buffer.allocUnsafe(64 * 1024);
    try {
      const count = readSync(fd, bytes, 0, bytes.length, null);
      if (count === 0) return;
      take(bytes.subarray(0, count));
    } catch {
      return; // EAGAIN: that was all
    }
  }
}
