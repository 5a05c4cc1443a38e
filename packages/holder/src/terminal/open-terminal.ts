import { closeSync, constants, openSync, readSync } from "node:fs";
import { constants as os } from "node:os";
import type { ReadStream } from "node:tty";
import { spawn } from "@lydell/node-pty";
import { isSame, type ProcessInfo, readAllProcesses } from "../processes/read-processes.ts";
import type { AgentProcess, Ears, Start } from "./agent-process.ts";

/** What node-pty 1.1.0 keeps to itself. */
interface Inside {
  readonly _pty: string;
  readonly _fd: number;
  readonly _socket: ReadStream;
  _emittedClose: boolean;
}

/** Nobody types this much ahead of an agent that does not read. */
const mostTyped = 1024 * 1024;

/** Starts an agent in a terminal of its own. */
export function openTerminal(start: Start, ears: Ears): AgentProcess {
  const [file = "", ...args] = start.command;
  const { cwd, cols, rows } = start;
  const options = { cwd, cols, rows, env: { ...start.env }, name: termOf(start.env), encoding: null };
  const terminal = start.spawnInside(() => spawn(file, args, options));
  const inside = terminal as unknown as Inside;
  const socket = inside._socket;
  // Bytes still on the way are thrown away by libuv once the last one who could write has closed the terminal. So one stays: we.
  const other = openSync(inside._pty, constants.O_RDWR | constants.O_NOCTTY);
  // Otherwise it waits 200 ms for the end of the output, which we keep from coming, and then gives up.
  inside._emittedClose = true;

  let over = false;
  let isOpen = true;
  const gathered = gather((bytes) => ears.wrote("out", bytes));
  socket.on("data", gathered.add);
  socket.on("error", () => {}); // the terminal is gone; how the agent ended is still to come
  terminal.onExit(({ exitCode, signal = 0 }) => {
    over = true;
    close();
    ears.ended(signal === 0 ? { code: exitCode, signal: null } : { code: null, signal: nameOf(signal) });
  });

  /** Whoever still has the other side open can neither read nor write there any more. */
  function close(): void {
    if (!isOpen) return;
    isOpen = false;
    socket.pause();
    while (socket.read() !== null); // what was held back while paused comes as `data`
    drain(inside._fd, gathered.add);
    gathered.deliver();
    closeSync(other);
    socket.destroy();
  }

  return {
    pid: terminal.pid,
    write(bytes) {
      if (isOpen && socket.writableLength < mostTyped) socket.write(bytes);
    },
    deliver: (bytes) =>
      new Promise((resolve) => {
        if (!isOpen || socket.writableLength >= mostTyped) return resolve(false);
        socket.write(bytes, (error) => resolve(error == null));
      }),
    midLine: () => false,
    resize(columns, lines) {
      if (isOpen) terminal.resize(columns, lines);
    },
    pause: () => void socket.pause(),
    resume() {
      if (isOpen) socket.resume();
    },
    kill(signal) {
      if (!over) terminal.kill(signal);
    },
    hangUp() {
      if (over || !isOpen) return;
      // The kernel tells the leader of the session alone, which is the agent. The others of its group would hear from the shell.
      const others = groupOf(terminal.pid);
      close();
      for (const each of others) hangUpOn(each);
    },
  };
}

const groupOf = (leader: number): ProcessInfo[] =>
  readAllProcesses().filter(({ pid, pgid, session }) => pgid === leader && session === leader && pid !== leader);

function hangUpOn(member: ProcessInfo): void {
  try {
    if (!isSame(member)) return;
    process.kill(member.pid, "SIGHUP");
    process.kill(member.pid, "SIGCONT"); // one that was stopped could not even die
  } catch {
    // Gone meanwhile, or not ours to signal.
  }
}

/** A terminal hands out 4 kB at a time: all that is there in one turn is worked through once. */
function gather(take: (bytes: Buffer) => void) {
  let pieces: Buffer[] = [];
  const deliver = (): void => {
    const [first] = pieces;
    if (first === undefined) return;
    const whole = pieces.length === 1 ? first : Buffer.concat(pieces);
    pieces = [];
    take(whole);
  };
  return {
    deliver,
    add(bytes: Buffer): void {
      if (pieces.push(bytes) === 1) setImmediate(deliver);
    },
  };
}

/**
 * What the agent wrote before it ended is in the kernel's buffer by now, and a read that finds nothing has looked at all of it. Children that
 * go on writing are cut off: they would keep us here for ever.
 */
function drain(fd: number, take: (bytes: Buffer) => void): void {
  for (let left = 1024 * 1024; left > 0; ) {
    const bytes = Buffer.allocUnsafe(64 * 1024);
    try {
      const count = readSync(fd, bytes, 0, bytes.length, null);
      if (count === 0) return;
      take(bytes.subarray(0, count));
      left -= count;
    } catch {
      return; // EAGAIN: that was all
    }
  }
}

const termOf = (env: Readonly<Record<string, string>>): string => {
  const term = env["TERM"];
  return term === undefined || term === "" || term === "dumb" ? "xterm-256color" : term;
};

const nameOf = (number: number): string =>
  Object.entries(os.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
