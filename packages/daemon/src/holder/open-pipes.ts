import { spawn } from "node:child_process";
import { once } from "node:events";
import { Fault } from "@rouse/contract";
import type { AgentProcess, Ears, Start } from "./agent-process.ts";

/**
 * Starts an agent between pipes. In the foreground it reads our own input and stays in our process group, where Ctrl-C reaches both; otherwise
 * it has nothing to read and a session of its own.
 */
export async function openPipes(start: Start, foreground: boolean, ears: Ears): Promise<AgentProcess> {
  const [file = "", ...args] = start.command;
  const child = start.spawnInside(() =>
    spawn(file, args, {
      cwd: start.cwd,
      env: { ...start.env },
      detached: !foreground,
      stdio: [foreground ? "inherit" : "ignore", "pipe", "pipe"],
    }),
  );
  if (child.pid === undefined) {
    const [error] = (await once(child, "error")) as [NodeJS.ErrnoException];
    throw new Fault("command-not-found", `cannot run ${JSON.stringify(file)}: ${error.code ?? error.message}`, {
      cause: error,
    });
  }
  child.on("error", () => {}); // a signal that found nobody: the end is on its way
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
  };

  /** A child left behind may hold the pipes open for ever: it gets a moment after the agent's own end, for what is still in them. */
  function hearEnd(): void {
    let told = false;
    child.on("exit", (code, signal) => {
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
      if (child.stdout.isPaused()) return; // whoever shows it is slow, and what is in the pipe is still to be shown
      if (now === last || ++looks > 20) {
        clearInterval(timer);
        tell();
      }
      last = now;
    }, 200);
    child.on("close", () => clearInterval(timer));
  }
}
