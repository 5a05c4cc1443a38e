import { parseArgs } from "node:util";
import { type PresetName, presetNames, type RouseEvent } from "@rouse/contract";
import { type OrchestratorTemper, orchestratorTempers } from "./actors/orchestrator.ts";
import { printFindings } from "./print-findings.ts";
import { simulate } from "./simulate.ts";

const usage = `npm run sim -- [--agents 100] [--days 7 | --hours N] [--seed N] [--preset fleet|default|tasks] [--held N] [--workers N] [--orchestrator ${orchestratorTempers.join("|")}] [--story AGENT,AGENT] [--why] [--json]

Runs the real monitor on virtual time in a seeded world of agents and faults and prints how often it was wrong, how fast it was right, and what it did
about it. --held: so many of the agents are held by Rouse, which may stop them and bring them back (half of them when not given). --workers: so many more
work through a queue of tasks (a tenth of the agents when not given). --orchestrator: what
whoever is asked is like in the whole run (by the seed when not given). --story prints
everything the monitor said of these agents and tasks (agent-1, held-1, worker-1, q-1, …), --why what it said in the two hours before each broken promise.
Exit code 1 when it called a healthy agent ill, left a sick one, stopped a healthy one, or broke another promise.`;

const { values } = parseArgs({
  options: {
    agents: { type: "string", default: "100" },
    days: { type: "string" },
    hours: { type: "string" },
    seed: { type: "string" },
    preset: { type: "string", default: "fleet" },
    held: { type: "string" },
    workers: { type: "string" },
    orchestrator: { type: "string" },
    story: { type: "string" },
    why: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});

const positive = (name: string, text: string | undefined, otherwise: number): number => {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  process.stderr.write(`--${name} must be a positive number\n\n${usage}\n`);
  process.exit(2);
};

if (values.help) {
  process.stdout.write(`${usage}\n`);
  process.exit(0);
}
if (!presetNames.includes(values.preset as PresetName)) {
  process.stderr.write(`--preset must be one of ${presetNames.join(", ")}\n\n${usage}\n`);
  process.exit(2);
}

const seed = Math.floor(positive("seed", values.seed, 1 + Math.floor(Math.random() * 1_000_000)));
const hours = values.hours === undefined ? 24 * positive("days", values.days, 7) : positive("hours", values.hours, 24);
const agents = Math.floor(positive("agents", values.agents, 100));
const held = values.held === "0" ? 0 : Math.floor(positive("held", values.held, agents / 2));
if (held > agents) {
  process.stderr.write(`--held must be at most --agents\n\n${usage}\n`);
  process.exit(2);
}
const workers = values.workers === "0" ? 0 : Math.floor(positive("workers", values.workers, agents / 10));
const { orchestrator } = values;
if (orchestrator !== undefined && !orchestratorTempers.includes(orchestrator as OrchestratorTemper)) {
  process.stderr.write(`--orchestrator must be one of ${orchestratorTempers.join(", ")}\n\n${usage}\n`);
  process.exit(2);
}
let told = 0;
/** What was said of each agent, for --why. */
const said = new Map<string, { readonly at: number; readonly line: string }[]>();
const ofMonitor: ReadonlySet<RouseEvent["type"]> = new Set<RouseEvent["type"]>([
  "MONITOR_GAP",
  "VERDICTS_HELD_BACK",
  "VERDICTS_RESUMED",
  "FLEET_INCIDENT_OPENED",
  "FLEET_INCIDENT_CLOSED",
]);
const stories = new Set(values.story?.split(","));
const findings = await simulate({
  seed,
  agents,
  held,
  workers,
  hours,
  ...(orchestrator === undefined ? {} : { orchestrator: orchestrator as OrchestratorTemper }),
  ...(values.story === undefined && !values.why ? {} : { watch: hear }),
  preset: values.preset as PresetName,
  progress(share) {
    if (process.stderr.isTTY) process.stderr.write(`\rseed ${seed}: ${Math.round(share * 100)} % `);
    else if (share >= told + 0.1) {
      told = share;
      process.stderr.write(`seed ${seed}: ${Math.round(share * 100)} %\n`);
    }
  },
});
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
process.stdout.write(values.json ? `${JSON.stringify(toJson())}\n` : printFindings(findings));
if (values.why) for (const violation of findings.violations) process.stdout.write(explain(violation));
process.exitCode = findings.violations.length === 0 ? 0 : 1;

/** What is said of an agent and its task belongs to the story of both; what the monitor says of itself, to every story. */
function hear(at: number, { type, payload }: RouseEvent): void {
  const line = `${(at / 1000).toFixed(0).padStart(8)} s ${type} ${JSON.stringify(payload)}\n`;
  const named = [payload as { agentId?: unknown; taskId?: unknown }].flatMap(({ agentId, taskId }) => [
    agentId,
    taskId,
  ]);
  const ids = named.filter((id) => typeof id === "string");
  if (ids.some((id) => stories.has(id)) || (ofMonitor.has(type) && stories.size > 0)) process.stderr.write(line);
  if (!values.why) return;
  for (const id of ids)
    said
      .set(id, said.get(id) ?? [])
      .get(id)
      ?.push({ at, line });
}

/** "seed 2, at 123.45 s: held-7 …" */
function explain(violation: string): string {
  const [, seconds, agentId] = /at ([\d.]+) s: .*?((?:held|agent|worker|q)-\d+)/.exec(violation) ?? [];
  const at = 1000 * Number(seconds);
  const lines = (said.get(agentId ?? "") ?? []).filter((one) => one.at <= at + 10_000 && one.at > at - 7_200_000);
  return `\n${violation}\n${lines.map(({ line }) => line).join("")}`;
}

function toJson(): object {
  const { falseVerdicts, detection, ladder } = findings;
  const sum = falseVerdicts.UNRESPONSIVE + falseVerdicts.STUCK + falseVerdicts.FAILING;
  return {
    ...findings,
    falseVerdicts: sum,
    falseVerdictsByState: falseVerdicts,
    detectionP95Seconds: detection.working.count === 0 ? null : detection.working.p95,
    recoveryShare: ladder === null || ladder.recoverable === 0 ? null : ladder.broughtBack / ladder.recoverable,
  };
}
