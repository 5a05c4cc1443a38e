import { closeSync, constants, openSync } from "node:fs";
import { type IPtyForkOptions, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { afterwards } from "./clean-up.ts";
import { program, type Surroundings } from "./run-rouse.ts";
import { until } from "./until.ts";

interface TerminalEnd {
  readonly code: number;
  /** Its number, 0 when it was none. */
  readonly signal: number;
}

/** A window on somebody's desk: one program runs in it. */
export interface OpenTerminal {
  readonly pid: number;
  /** Everything that came, as it came. */
  bytes(): Buffer;
  text(): string;
  /** Waits until `text` came, after `mark` when given; where it ended can be the next mark. */
  shows(text: string, mark?: number): Promise<number>;
  /** The lines a person sees. */
  screen(): Promise<string[]>;
  /** The lines above those. */
  scrolledAway(): Promise<string[]>;
  type(keys: string): void;
  resize(cols: number, rows: number): void;
  /** As on a connection that is stuck: nothing is taken from the terminal until `resume`. */
  pause(): void;
  resume(): void;
  /** Closes the window. */
  close(): void;
  readonly ended: Promise<TerminalEnd>;
}

const cols = 100;
const rows = 30;

export function openTerminal(command: string, args: readonly string[], surroundings: Surroundings): OpenTerminal {
  const { home, environment } = surroundings;
  const cwd = home.slice(0, home.lastIndexOf("/"));
  const env = {
    PATH: process.env["PATH"],
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    HOME: home,
    ROUSE_HOME: home,
    ...environment,
  };
  const options: IPtyForkOptions = { cols, rows, cwd, env, name: "xterm-256color", encoding: null };
  const pty = spawn(command, [...args], options);
  // The end of the output is lost when nobody has the other side open any more.
  const other = openSync((pty as unknown as { _pty: string })._pty, constants.O_RDWR | constants.O_NOCTTY);
  const screen = new xterm.Terminal({ cols, rows, allowProposedApi: true, logLevel: "off" });
  const pieces: Buffer[] = [];
  pty.onData((data) => {
    const bytes = data as unknown as Buffer;
    pieces.push(bytes);
    screen.write(bytes);
  });
  let closed = false;
  const close = (): void => {
    if (closed) return;
    closed = true;
    (pty as unknown as { destroy(): void }).destroy();
  };
  const ended = new Promise<TerminalEnd>((resolve) => {
    pty.onExit(({ exitCode, signal = 0 }) => {
      closeSync(other);
      // What is still in the terminal's buffer is read in the turns that follow.
      setTimeout(() => resolve({ code: exitCode, signal }), 50);
    });
  });
  afterwards(async () => {
    close();
    pty.kill("SIGKILL");
    await ended;
    screen.dispose();
  });
  const bytes = (): Buffer => Buffer.concat(pieces);
  return {
    pid: pty.pid,
    bytes,
    text: () => bytes().toString("utf8"),
    async shows(text, mark = 0) {
      const look = (): number | false => {
        const at = bytes().toString("utf8").indexOf(text, mark);
        return at !== -1 && at + text.length;
      };
      return until(`the terminal shows ${JSON.stringify(text)}`, look).catch((error: Error) => {
        throw new Error(`${error.message}; it shows ${JSON.stringify(bytes().toString("utf8").slice(-2000))}`);
      });
    },
    screen: () => linesOf(screen, "seen"),
    scrolledAway: () => linesOf(screen, "above"),
    type: (keys) => pty.write(keys),
    resize(width, height) {
      pty.resize(width, height);
      screen.resize(width, height);
    },
    pause: () => pty.pause(),
    resume: () => pty.resume(),
    close,
    ended,
  };
}

async function linesOf(terminal: xterm.Terminal, which: "seen" | "above"): Promise<string[]> {
  await new Promise<void>((done) => terminal.write("", done));
  const { active } = terminal.buffer;
  const [from, to] = which === "seen" ? [active.baseY, active.baseY + terminal.rows] : [0, active.baseY];
  return Array.from({ length: to - from }, (_, row) => active.getLine(from + row)?.translateToString(true) ?? "");
}

/** `rouse` typed into a terminal of its own. */
export const openRouse = (args: readonly string[], surroundings: Surroundings): OpenTerminal =>
  openTerminal(process.execPath, [program, ...args], surroundings);
