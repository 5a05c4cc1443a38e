import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { type Guard, guards } from "./guards.ts";
import type { Findings } from "./judges/judge.ts";

const usage = `npm run guards -- [--only TEXT] [--no-sim]

Takes out the guards of sim/guards.ts, one at a time, in a copy of the repository, and prints what noticed: the unit tests around each, and half a day
of 300 simulated agents whose questions nobody answers (a minute for each guard), or of 30 that work through a queue of tasks. --only: those whose name
has TEXT in it.
Exit code 1 when nothing noticed that a guard was gone.`;

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    "no-sim": { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});

interface Noticed {
  readonly tests: number;
  /** `null`: it was not run, or did not run without the guard. */
  readonly world: { readonly stopped: number; readonly violations: number } | null;
}

const run = promisify(execFile);
/** What harms an agent is looked for among many that are held; what harms a task, where many work through a queue. */
const worlds = { agents: "--agents 300 --held 150", tasks: "--agents 30 --held 0 --workers 30" };
const halfADay = "--hours 12 --preset default --seed 1 --orchestrator never --json";

/** Whatever the exit code: a failure is what is looked for. What prints no document did not run. */
async function readDocument<T>(copy: string, program: string, args: readonly string[]): Promise<T> {
  const ran = await run(program, args, { cwd: copy, maxBuffer: 2 ** 28 }).catch((error: Ran) => error);
  const from = ran.stdout.indexOf("{");
  if (from === -1) throw new Error(`${program} ${args[0]} did not run: ${ran.stderr}`);
  return JSON.parse(ran.stdout.slice(from)) as T;
}

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
}

/** What core judges is tested all over core; elsewhere a guard is tested beside it. */
const testsAround = (file: string): string => (file.startsWith("packages/core/") ? "packages/core" : dirname(file));

async function look(copy: string, around = "packages/core", world: keyof typeof worlds = "agents"): Promise<Noticed> {
  const unit = ["vitest", "run", "--project", "unit", around, "--bail=1", "--reporter=json"];
  const { numFailedTests: tests } = await readDocument<{ numFailedTests: number }>(copy, "npx", unit);
  if (values["no-sim"]) return { tests, world: null };
  const day = ["scripts/run.mjs", "sim/main.ts", ...worlds[world].split(" "), ...halfADay.split(" ")];
  const { violations, ladder } = await readDocument<Pick<Findings, "violations" | "ladder">>(
    copy,
    process.execPath,
    day,
  );
  return { tests, world: { stopped: ladder?.healthyStopped ?? 0, violations: violations.length } };
}

async function lookWithout({ file, find, replace, world }: Guard, copy: string): Promise<Noticed> {
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  writeFileSync(
    path,
    source.replace(find, () => replace),
  );
  try {
    return await look(copy, testsAround(file), world);
  } finally {
    writeFileSync(path, source);
  }
}

function describeWorld({ world }: Noticed): string {
  if (world === null) return "–";
  if (world.stopped > 0) return `${world.stopped} well agents stopped`;
  return world.violations > 0 ? `${world.violations} violations` : "not seen";
}

const describe = (name: string, noticed: Noticed): string =>
  `| ${name} | ${describeWorld(noticed)} | ${noticed.tests === 0 ? "pass" : "fail"} |\n`;

async function main(): Promise<number> {
  const chosen = guards.filter(({ name }) => name.includes(values.only));
  const copy = mkdtempSync(join(tmpdir(), "rouse-guards-"));
  try {
    // Links of node_modules to the packages are relative: in the copy they lead to the copy. What is changed is copied, the rest is linked.
    await run("cp", ["-al", "node_modules", copy]);
    const sources = readdirSync(".").filter((name) => name !== "node_modules" && name !== ".git");
    await run("cp", ["-r", ...sources, copy]);
    process.stdout.write("| removed | in the simulation | unit tests |\n|---|---|---|\n");
    process.stdout.write(describe("nothing", await look(copy)));
    let unnoticed = 0;
    for (const guard of chosen) {
      const noticed = await lookWithout(guard, copy);
      if (noticed.tests === 0) unnoticed += 1;
      process.stdout.write(describe(guard.name, noticed));
    }
    return unnoticed === 0 ? 0 : 1;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

if (values.help) process.stdout.write(`${usage}\n`);
else process.exitCode = await main();
