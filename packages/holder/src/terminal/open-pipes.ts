import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { Fault } from "@rouse/contract";
import type { AgentProcess, Ears, Start } from "./agent-process.ts";

/**
 * Starts an agent between pipes. In the foreground it reads our own input and stays in our process group, where Ctrl-C
 * reaches both. Otherwise it has nothing to read and a session of its own. An agent that `takesMessages` always reads
 * from a pipe of ours: our own input is passed on to it, and where there is none the pipe stays open.
 */
export async function openPipes(
  start: Start,
  { foreground, takesMessages }: { readonly foreground: boolean; readonly takesMessages: boolean },
  ears: Ears,
): Promise<AgentProcess> {
  const [file = "", ...args] = start.command;
  const reads = takesMessages ? "pipe" : foreground ? "inherit" : "ignore";
  const child = start.spawnInside(() =>
    spawn(file, args, {
      cwd: start.cwd,
      env: { ...start.env },
      detached: !foreground,
      stdio: [reads, "pipe", "pipe"],
    }),
  ) as ChildProcessByStdio<Writable | null, Readable, Readable>;
  if (child.pid === undefined) {
    const [error] = (await once(child, "error")) as [NodeJS.ErrnoException];
    throw new Fault("command-not-found", `cannot run ${JSON.stringify(file)}: ${error.code ?? error.message}`, {
      cause: error,
    });
  }
  child.on("error", () => {}); // a signal came too late: `exit` follows
  const { stdin } = child;
  stdin?.on("error", () => {}); // the agent reads no more
  const relay = stdin !== null && foreground ? relayInput(process.stdin, stdin) : null;
  let heard = 0;
  for (const [stream, pipe] of [
    ["out", child.stdout],
    ["err", child.stderr],
  ] as const) {
    pipe.on("data", (bytes: Buffer) => {
      heard += bytes.length;
      ears.wrote(stream, bytes);
    });
  }
  hearEnd();

  return {
    pid: child.pid,
    write: () => {},
    deliver: (bytes) =>
      new Promise((resolve) => {
        if (stdin === null) return resolve(false);
        stdin.write(bytes, (error) => resolve(error == null));
      }),
    midLine: () => relay?.midLine() ?? false,
    resize: () => {},
    pause() {
      child.stdout.pause();
      child.stderr.pause();
    },
    resume() {
      child.stdout.resume();
      child.stderr.resume();
    },
    kill: (signal) => void child.kill(signal),
    hangUp() {
      child.kill("SIGHUP");
      child.kill("SIGCONT"); // a stopped process could not even die
    },
  };

  /**
   * A child left behind may keep the pipes open for ever: what is still in them gets a moment after the agent's end.
   */
  function hearEnd(): void {
    let told = false;
    child.on("exit", (code, signal) => {
      relay?.stop();
      const tell = () => {
        if (told) return;
        told = true;
        child.stdout.destroy();
        child.stderr.destroy();
        ears.ended({ code, signal });
      };
      child.on("close", tell);
      waitUntilQuiet(tell);
    });
  }

  function waitUntilQuiet(tell: () => void): void {
    let last = heard;
    let looks = 0;
    const timer = setInterval(() => {
      const now = heard;
      if (child.stdout.isPaused()) return; // the viewer is slow, and what is in the pipe is still to be shown
      if (now === last || ++looks > 20) {
        clearInterval(timer);
        tell();
      }
      last = now;
    }, 200);
    child.on("close", () => clearInterval(timer));
  }
}

/** Our own input on its way to an agent, line by line or not. */
interface Relay {
  /** The end of a line is still to come: anything else written now would end up inside that line. */
  midLine(): boolean;
  stop(): void;
}

const newline = 10;

/** Passes on every byte, and the end. A slow reader makes the writer wait. */
function relayInput(from: Readable & { unref?(): unknown }, to: Writable): Relay {
  let last = newline;
  const pass = (bytes: Buffer): void => {
    last = bytes.at(-1) ?? last;
    if (!to.write(bytes)) from.pause();
  };
  const goOn = (): void => void from.resume();
  const end = (): void => void to.end();

  function stop(): void {
    from.off("data", pass).off("end", end).off("error", end);
    to.off("drain", goOn);
    from.pause();
    from.unref?.();
  }

  from.on("data", pass).on("end", end).on("error", end);
  to.on("drain", goOn).on("close", stop);
  return { midLine: () => last !== newline, stop };
}
