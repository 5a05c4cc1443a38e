import { closeSync, openSync } from "node:fs";
import type { ExitStatus } from "@rouse/contract";
import { attempt } from "./attempt.ts";
import { hold } from "./hold.ts";
import { readProcess } from "./processes/read-processes.ts";
import type { Size } from "./protocol/messages.ts";
import type { Spec } from "./protocol/spec.ts";
import { calmDown, enterRawMode, leaveFullScreen, pourInto } from "./terminal/own-terminal.ts";
import type { Foreground, Handle } from "./terminal/tend-terminal.ts";

const forwarded = ["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGINT", "SIGQUIT"] as const;

/** `rouse run`: this process is the holder, and its terminal or pipes are the person's. */
export async function runInForeground(spec: Spec, home: string): Promise<ExitStatus> {
  let terminated = false;
  const noteTerm = (): void => {
    terminated = true;
  };
  process.on("SIGTERM", noteTerm);
  try {
    const exit = await hold(spec, home, openForeground(spec.io));
    // The sender of SIGTERM need not know that the agent had to be killed.
    return terminated && exit.signal === "SIGKILL" ? { ...exit, signal: "SIGTERM" } : exit;
  } finally {
    process.off("SIGTERM", noteTerm);
  }
}

function openForeground(io: Spec["io"]): Foreground {
  const { stdin, stdout } = process;
  const undo: (() => void)[] = [];
  let handle: Handle | null = null;
  let gone = false;
  let full = 0;
  const ears = {
    full() {
      if (++full === 1) handle?.pause();
    },
    roomy() {
      if (--full === 0) handle?.resume();
    },
    gone: () => hangUp(),
  };
  const sinks = { out: pourInto(1, ears), err: pourInto(2, { ...ears, gone: () => {} }) };

  function hangUp(sent = false): void {
    if (gone) return;
    gone = true;
    handle?.hangUp(sent);
  }

  function listen<E>(emitter: Emitter, event: string, listener: (value: E) => void): void {
    emitter.on(event, listener as (value: unknown) => void);
    undo.push(() => emitter.off(event, listener as (value: unknown) => void));
  }

  function takeKeyboard(agent: Handle): void {
    if (stdin.isTTY) undo.push(enterRawMode());
    listen<Buffer>(stdin, "data", (bytes) => agent.type(bytes));
    listen(stdin, "error", () => hangUp());
    listen(stdin, "end", () => (stdin.isTTY ? hangUp() : agent.type(Buffer.from([4]))));
    stdin.resume();
    undo.push(() => {
      stdin.pause();
      stdin.unref?.();
    });
  }

  function takeSignals(agent: Handle): void {
    const hadTerminal = hasTerminal();
    for (const name of forwarded) {
      listen(process as Emitter, name, () => {
        if (name === "SIGHUP") return hangUp(!hadTerminal || hasTerminal());
        if (name === "SIGTERM") return agent.terminate();
        const fromKeyboard = name === "SIGINT" || name === "SIGQUIT";
        if (io === "pipes" && fromKeyboard && weHaveTheTerminal()) agent.interrupted();
        else agent.signal(name);
      });
    }
  }

  const size = (): Size | null => (stdout.isTTY ? { cols: stdout.columns || 80, rows: stdout.rows || 24 } : null);

  return {
    size,
    begin(agent) {
      handle = agent;
      takeSignals(agent);
      if (io === "pipes") return;
      takeKeyboard(agent);
      listen(stdout, "resize", () => {
        const now = size();
        if (now !== null) agent.resize(now);
      });
    },
    show: (stream, bytes) => sinks[stream].pour(bytes),
    async end({ killed, fullScreen, lastWord }) {
      if (io === "terminal" && stdout.isTTY && killed) {
        sinks.out.pour(Buffer.from(`${fullScreen ? leaveFullScreen : ""}${calmDown}`));
      }
      await Promise.all([sinks.out.emptied(), sinks.err.emptied()]);
      for (const back of undo.splice(0)) back();
      if (lastWord !== null && !gone) process.stderr.write(`rouse: ${lastWord}\n`);
    },
  };
}

interface Emitter {
  on(event: string, listener: (value: unknown) => void): unknown;
  off(event: string, listener: (value: unknown) => void): unknown;
}

/** Whether this process still has a controlling terminal: one that was closed cannot be opened. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether our process group is in the foreground: then the terminal sends the signals of its keys to the agent as well.
 */
function weHaveTheTerminal(): boolean {
  const own = attempt(() => readProcess(process.pid));
  return own !== null && own.pgid === own.foreground;
}
