import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { benchCli } from "./cli.ts";
import { benchDetection } from "./detection.ts";
import { benchFleet } from "./fleet.ts";
import { type LoadPlan, runLoad } from "./load.ts";
import { benchRecovery } from "./recovery.ts";
import { formatTable, type Line, machine } from "./report.ts";
import { benchRestart } from "./restart.ts";
import { benchSdk } from "./sdk.ts";
import { benchSnapshots } from "./snapshots.ts";
import { cleanUpOnExit } from "./start-servers.ts";
import { benchAdoption } from "./terminals/adoption.ts";
import { relay } from "./terminals/bare-relay.ts";
import { benchExits } from "./terminals/exits.ts";
import { benchHolders } from "./terminals/holders.ts";
import { benchHooks } from "./terminals/hooks.ts";
import { benchNudges } from "./terminals/nudges.ts";
import { benchOutput } from "./terminals/output.ts";
import { benchTyping } from "./terminals/typing.ts";
import { type BenchOptions, benchThroughput } from "./throughput.ts";
import { benchTimeToHelp } from "./time-to-help.ts";

interface Bench {
  readonly name: string;
  readonly about: string;
  run(options: BenchOptions): Promise<Line[]>;
}

const benches: readonly Bench[] = [
  {
    name: "heartbeats",
    about: "throughput, fleet and restart: about ten minutes",
    run: inTurn(benchThroughput, benchFleet, benchRestart),
  },
  {
    name: "cli",
    about: "CPU and wall of short commands and of spawn, beside node -e 0, tmux and pm2; memory of a holder",
    run: benchCli,
  },
  {
    name: "throughput",
    about: "durable beats, single and in batches, against a bare node:http echo; latency at 1,000 beats/s",
    run: benchThroughput,
  },
  {
    name: "fleet",
    about: "memory and CPU with 100, 10,000 and 100,000 idle agents",
    run: benchFleet,
  },
  {
    name: "restart",
    about: "looking at one of 10,000 agents; from kill -9 to ready",
    run: benchRestart,
  },
  {
    name: "terminals",
    about: "output, typing, holders, exits and adoption: about three minutes",
    run: inTurn(benchOutput, benchTyping, benchHolders, benchExits, benchAdoption),
  },
  {
    name: "output",
    about: "100 MB of lines through rouse run, against a bare pseudo-terminal relay",
    run: benchOutput,
  },
  {
    name: "typing",
    about: "a key to the agent and back, against the same relay",
    run: benchTyping,
  },
  {
    name: "holders",
    about: "start and memory of 20 holders, against processes of Node that do nothing",
    run: benchHolders,
  },
  { name: "exits", about: "from the death of an agent, or of its holder, to the event", run: benchExits },
  {
    name: "adoption",
    about: "from kill -9 of the daemon until it has 20 talking agents back",
    run: benchAdoption,
  },
  {
    name: "recovery",
    about: "from kill -9 of an agent until its replacement has the state it goes on with, 30 times",
    run: benchRecovery,
  },
  { name: "nudges", about: "from the decision to nudge until the agent has read it, 20 times", run: benchNudges },
  { name: "hooks", about: "what a hook costs a tool call, against a bare node:http echo", run: benchHooks },
  {
    name: "detection",
    about: "verdicts on 951 recorded runs beside two published rules; what the detectors cost: a few seconds",
    run: benchDetection,
  },
  {
    name: "help",
    about: "from the beginning of each sickness to nudge, question and stop, on virtual time: a few seconds",
    run: benchTimeToHelp,
  },
  {
    name: "sdk",
    about: "breaker, retry and rate limit beside other libraries, sizes, and CPU of a beat a second: three minutes",
    run: benchSdk,
  },
  {
    name: "snapshots",
    about: "saving the work tree of a repository of 50,000 files, against git status and git stash create",
    run: benchSnapshots,
  },
];

function inTurn(...runs: readonly Bench["run"][]): Bench["run"] {
  return async (options) => {
    const lines: Line[] = [];
    for (const run of runs) lines.push(...(await run(options)));
    return lines;
  };
}

const usage = [
  "npm run bench -- NAME [--seconds 5] [--json]",
  "",
  ...benches.map(({ name, about }) => `  ${name.padEnd(12)}${about}`),
  "",
  "--seconds  how long one run is measured; --json  one JSON document instead of a table.",
  "",
].join("\n");

const [role, argument = ""] = process.argv.slice(2);
// A bench starts this program again for the processes it needs beside the daemon.
if (role === "load") process.stdout.write(JSON.stringify(await runLoad(JSON.parse(argument) as LoadPlan)));
else if (role === "echo") startEchoServer(Number(argument));
else if (role === "relay") await relay(process.argv.slice(3));
else await runBench();

async function runBench(): Promise<void> {
  const { values, positionals } = readArguments();
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) return refuse(`--seconds ${values.seconds} is not a number above 0`);
  const [name, ...more] = positionals;
  if (name === undefined) return void process.stdout.write(usage);
  const bench = benches.find((one) => one.name === name);
  if (bench === undefined || more.length > 0) return refuse(`there is no bench ${positionals.join(" ")}`);
  cleanUpOnExit();
  const say = (progress: string) => process.stderr.write(`${progress}\n`);
  const show = (table: string) => (values.json ? process.stderr : process.stdout).write(`${table}\n`);
  const lines = await bench.run({ seconds, say, show });
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ bench: name, at: new Date().toISOString(), machine: machine(), seconds, lines }, null, 2)}\n`
      : formatTable(lines),
  );
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { seconds: { type: "string", default: "5" }, json: { type: "boolean", default: false } },
    });
  } catch (error) {
    refuse((error as Error).message);
    process.exit();
  }
}

function refuse(sentence: string): void {
  process.stderr.write(`${sentence}\n\n${usage}`);
  process.exitCode = 1;
}

/** The least a Node server can do with a heartbeat, to compare with: reads the body and sends it back. */
function startEchoServer(port: number): void {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      response.writeHead(200, { "content-type": "application/json", "content-length": body?.length ?? 0 });
      response.end(body);
    });
  });
  server.keepAliveTimeout = 75_000;
  server.listen(port, "127.0.0.1");
}
