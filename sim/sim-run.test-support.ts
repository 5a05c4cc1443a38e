import { execFile } from "node:child_process";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Findings } from "./judge.ts";
import type { SimulationOptions } from "./simulate.ts";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("..", import.meta.url));

/** What `npm run sim -- --json` prints. */
export type Printed = Omit<Findings, "falseVerdicts"> & {
  readonly falseVerdicts: number;
  readonly recoveryShare: number | null;
};

/** Bundled as `npm run sim` does it: from there on each run is a process of its own, so that two cores do two weeks at once, and at twice the speed. */
export async function bundleSimulator(): Promise<void> {
  await run(process.execPath, [join(repository, "scripts/run.mjs"), "sim/main.ts", "--help"], { cwd: repository });
}

/**
 * In a hurry or not, a run prints its seed: `npm run sim -- --seed N …` shows the same world again. With a `signal` that ends it, it takes only the
 * time that nobody else wants.
 */
export async function simulateApart(options: SimulationOptions, signal?: AbortSignal): Promise<Printed> {
  const { seed, agents, held = 0, hours, preset } = options;
  const world = { seed, agents, held, hours, preset };
  const args = Object.entries(world).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const main = join(repository, "node_modules/.cache/rouse/sim-main.js");
  const running = run(process.execPath, [main, ...args, "--json"], {
    cwd: repository,
    maxBuffer: 2 ** 26,
    ...(signal === undefined ? {} : { signal }),
  });
  const { pid } = running.child;
  if (signal !== undefined && pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
  // Exit code 1 says that a promise was broken, and which ones is printed all the same.
  const { stdout } = await running.catch((error: { stdout?: string }) => {
    if (!error.stdout?.startsWith("{")) throw error;
    return { stdout: error.stdout };
  });
  const printed = JSON.parse(stdout) as Printed;
  process.stdout.write(`sim: ${tell(printed, held)}\n`);
  return printed;
}

function tell(
  { seed, preset, agents, agentHours, trueVerdicts: right, detection, ladder }: Printed,
  held: number,
): string {
  const verdicts = right.UNRESPONSIVE + right.STUCK + right.FAILING;
  const seen = `seed ${seed}, ${preset}, ${agents} agents (${held} held), ${agentHours} agent-hours, ${verdicts} right verdicts, P95 at work ${detection.working.p95} s`;
  if (ladder === null) return seen;
  return `${seen}, ${ladder.stops} stops, ${ladder.broughtBack} of ${ladder.recoverable} brought back, done after ${ladder.intervention.mean} s on average`;
}
