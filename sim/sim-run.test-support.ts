import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Findings } from "./judges/judge.ts";
import type { SimulationOptions } from "./simulate.ts";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("..", import.meta.url));

/** A hang is a failure; a slow machine is not. */
export const patience = 3_600_000;

/** What `npm run sim -- --json` prints. */
export type Printed = Omit<Findings, "falseVerdicts"> & {
  readonly falseVerdicts: number;
  readonly recoveryShare: number | null;
};

/** Bundled as `npm run sim` does it: from there on each run is a process of its own, so that two cores do two worlds at once. */
export async function bundleSimulator(): Promise<void> {
  await run(process.execPath, [join(repository, "scripts/run.mjs"), "sim/main.ts", "--help"], { cwd: repository });
}

/** Prints the seed: `npm run sim -- --seed N …` shows the same world again. With `progress`, it also says how far it is. */
export async function simulateApart(options: SimulationOptions, { progress = false } = {}): Promise<Printed> {
  const { seed, agents, held = 0, hours, preset } = options;
  const world = { seed, agents, held, hours, preset };
  const args = Object.entries(world).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const main = join(repository, "node_modules/.cache/rouse/sim-main.js");
  const running = run(process.execPath, [main, ...args, "--json"], { cwd: repository, maxBuffer: 2 ** 26 });
  const end = () => running.child.kill("SIGKILL");
  process.once("exit", end);
  if (progress) running.child.stderr?.on("data", (text: string) => process.stderr.write(`sim: ${text}`));
  // Exit code 1 says that a promise was broken, and which ones is printed all the same.
  const { stdout } = await running
    .catch((error: { stdout?: string }) => {
      if (!error.stdout?.startsWith("{")) throw error;
      return { stdout: error.stdout };
    })
    .finally(() => process.off("exit", end));
  const printed = JSON.parse(stdout) as Printed;
  process.stdout.write(`sim: ${tell(printed, held)}\n`);
  for (const broken of printed.violations)
    process.stdout.write(`sim: seed ${seed}: BROKEN: ${JSON.stringify(broken)}\n`);
  return printed;
}

function tell(
  { seed, preset, agents, agentHours, trueVerdicts: right, detection, ladder, violations }: Printed,
  held: number,
): string {
  const verdicts = right.UNRESPONSIVE + right.STUCK + right.FAILING;
  const seen = `seed ${seed}, ${preset}, ${agents} agents (${held} held), ${agentHours} agent-hours, ${violations.length} promises broken, ${verdicts} right verdicts, P95 at work ${detection.working.p95} s`;
  if (ladder === null) return seen;
  return `${seen}, ${ladder.stops} stops (${ladder.healthyStopped} of healthy ones), ${ladder.broughtBack} of ${ladder.recoverable} brought back, done after ${ladder.intervention.mean} s on average`;
}
