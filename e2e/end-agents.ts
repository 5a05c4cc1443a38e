import { readdirSync, readFileSync } from "node:fs";
import { afterwards } from "./clean-up.ts";
import { until } from "./until.ts";

/** Ends whatever was started with this data folder when the test is over: agents, holders, the daemon. */
export function endAgentsAfterwards(home: string): void {
  afterwards(async () => {
    await until(`nobody of ${home} is left`, () => {
      const left = processesOf(home);
      for (const pid of left) kill(pid);
      return left.length === 0;
    });
  });
}

/** The processes that were started with this folder as their HOME. */
export function processesOf(home: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && `\0${environmentOf(name)}`.includes(`\0HOME=${home}\0`))
    .map(Number);
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return ""; // gone, or somebody else's
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // gone in the meantime
  }
}
