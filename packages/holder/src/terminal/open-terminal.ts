import { closeSync, constants, openSync, readSync } from "node:fs";
import { constants as os } from "node:os";
import type { ReadStream } from "node:tty";
import { spawn } from "@lydell/node-pty";
import { isSame, type ProcessInfo, readAllProcesses } from "../processes/read-processes.ts";
import type { AgentProcess, Ears, Start } from "./agent-process.ts";

/** Private parts of node-pty 1.1.0. */
interface Inside {
  readonly _pty: string;
  readonly _fd: number;
  readonly _socket: ReadStream;
  _emittedClose: boolean;
}

/** In bytes; nobody types this much ahead of an agent that does not read. */
const mostTyped = 1024 * 1024;

/** Starts an agent in a terminal of its own. */
export function openTerminal(start: Start, ears: Ears): AgentProcess {
  const [file = "", ...args] = start.command;
  const { cwd, cols, rows } = start;
  const options = { cwd, cols, rows, env: { ...start.env }, name: termOf(start.env), encoding: null };
  const terminal = start.spawnInside(() => spawn(file, args, options));
  const inside = terminal as unknown as Inside;
  const socket = inside._socket;
  // libuv throws bytes away that are still on the way when the last writer has closed the terminal. So we keep it open.
  const other = openSync(inside._pty, constants.O_RDWR | constants.O_NOCTTY);
  // Otherwise node-pty waits 200 ms for the end of the output, which we keep from coming, and then gives up.
  inside._emittedClose = true;

  let over = false;
  let isOpen = true;
  const gathered = gather((bytes) => ears.wrote("out", bytes));
  socket.on("data", gathered.add);
  socket.on("error", () => {}); // the terminal is gone; `onExit` is still to come
  terminal.onExit(({ exitCode, signal = 0 }) => {
    over = true;
    close();
    ears.ended(signal === 0 ? { code: exitCode, signal: null } : { code: null, signal: nameOf(signal) });
  });

  /** Afterwards processes that still have the terminal open can neither read nor write there. */
  function close(): void {
    if (!isOpen) return;
    isOpen = false;
    socket.pause();
    while (socket.read() !== null); // output held back while paused comes as `data`
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
      // The kernel tells only the leader of the session, which is the agent. A shell would tell the others of its
      // group.
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
    process.kill(member.pid, "SIGCONT"); // a stopped process could not even die
  } catch {
    // Gone meanwhile, or not ours to signal.
  }
}

/** A terminal gives 4 kB at a time: all that comes in one turn of the event loop is processed at once. */
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
 * What the agent wrote before it ended is in the kernel's buffer by now, and a read that finds nothing has read all of
 * it. Children that go on writing are cut off: they would keep us here for ever.
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
