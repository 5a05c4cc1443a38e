import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { processesOf } from "../end-agents.ts";

/**
 * Ends the agents of a cell that was broken off: they outlive the monitor and the tests, and a loop would go on for
 * ever.
 */
export function endRun(runs: string): void {
  const left = readdirSync(runs).flatMap((name) => processesOf(join(runs, name, "home")));
  for (const pid of left) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // gone in the meantime
    }
  }
  rmSync(runs, { recursive: true, force: true, maxRetries: 5 });
}
