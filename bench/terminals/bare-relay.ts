import { spawnSync } from "node:child_process";
import { write } from "node:fs";
import { openPty } from "./open-pty.ts";

const full = 1024 * 1024;
const roomy = 256 * 1024;

/**
 * The least a program between a command's terminal and a person's has to do, in the same language and with the same
 * library: keys in, bytes out, back-pressure, exit code. It keeps nothing and understands nothing.
 */
export async function relay(command: readonly string[]): Promise<void> {
  const { stdin, stdout } = process;
  let waiting: Buffer[] = [];
  let held = 0;
  let writing = false;
  let paused = false;

  function pour(): void {
    writing = held > 0;
    if (!writing) return;
    const bytes = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting);
    waiting = [];
    push(bytes);
  }

  function push(bytes: Buffer): void {
    write(1, bytes, 0, bytes.length, null, (error, count) => {
      if (error !== null) process.exit(1);
      held -= count;
      if (paused && held <= roomy) {
        paused = false;
        pty.resume();
      }
      if (count < bytes.length) push(bytes.subarray(count));
      else pour();
    });
  }

  const setting = { cwd: process.cwd(), env: process.env, cols: stdout.columns || 80, rows: stdout.rows || 24 };
  const pty = openPty(command, setting, (bytes) => {
    waiting.push(bytes);
    held += bytes.length;
    if (!writing) pour();
    if (!paused && held > full) {
      paused = true;
      pty.pause();
    }
  });
  stdin.setRawMode(true);
  // Node's raw mode still turns a line feed into two characters, which the command's terminal has done before.
  spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
  stdin.on("data", (bytes) => pty.write(bytes));
  const code = await pty.ended;
  while (held > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  process.exit(code);
}
