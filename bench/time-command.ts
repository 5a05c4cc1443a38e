import { spawn } from "node:child_process";
import { once } from "node:events";

export interface Cost {
  /** Milliseconds of processor time of the command and all it waited for, as the kernel tells whoever waits for it. */
  readonly cpu: number;
  /** Milliseconds on the clock. */
  readonly wall: number;
}

/** Node does not tell what a child cost; bash does. What the command prints is thrown away. */
const timed = 'TIMEFORMAT="%U %S %R"; { time "$@" >/dev/null 2>&3; } 3>/dev/null';

/** Runs a command to its end. One that fails has no cost. */
export async function timeCommand(
  command: readonly string[],
  { env, cwd }: { env: NodeJS.ProcessEnv; cwd: string },
): Promise<Cost> {
  const shell = spawn("bash", ["-c", timed, "bash", ...command], { env, cwd, stdio: ["ignore", "ignore", "pipe"] });
  let told = "";
  shell.stderr.on("data", (chunk) => (told += chunk));
  const [code] = await once(shell, "close");
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}`);
  return readTimes(told);
}

/** Seconds of user, system and clock, with a comma or a point as people there write them. */
export function readTimes(text: string): Cost {
  const [user, system, wall] = text.trim().replaceAll(",", ".").split(" ").map(Number);
  if (user === undefined || system === undefined || wall === undefined || Number.isNaN(user + system + wall))
    throw new Error(`bash told no times: ${text}`);
  return { cpu: Math.round((user + system) * 1000), wall: Math.round(wall * 1000) };
}
