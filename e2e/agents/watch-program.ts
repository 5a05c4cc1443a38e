import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { AgentHealth, Eye, EyeState, SavedEvent } from "@rouse/contract";
import { readOutput } from "../../packages/holder/src/output/read-output.ts";
import { holderFiles } from "../../packages/holder/src/protocol/holder-files.ts";
import { afterwards } from "../clean-up.ts";
import { endAgentsAfterwards } from "../end-agents.ts";
import { type OpenTerminal, openTerminal } from "../open-terminal.ts";
import { openStream } from "../read-stream.ts";
import { program as rouse, startProgram } from "../run-rouse.ts";
import { type Daemon, startDaemon } from "../start-daemon.ts";
import { until } from "../until.ts";
import type { Cell } from "./cells.ts";
import { cacheOf, fileOf } from "./programs.ts";
import { lastWords, type Scenario } from "./scenarios.ts";
import type { ModelRun, ScriptedModel } from "./scripted-model.ts";
import { standInFor } from "./stand-in-for.ts";
import { makeProject, prepare, type Surroundings } from "./surroundings.ts";
import { pause } from "./wires/wire.ts";

/** What Rouse said of the agent, from when on. */
export interface Saying {
  readonly at: number;
  readonly health: AgentHealth;
}

/** A real program under a real Rouse, and everything that is said about it. */
export interface Watched {
  readonly cell: Cell;
  readonly daemon: Daemon;
  readonly model: ModelRun;
  /** Where it works. */
  readonly folder: string;
  /** Only in `run`: the window it runs in. */
  readonly terminal: OpenTerminal | null;
  /** Every different thing Rouse said so far, oldest first. */
  readonly sayings: readonly Saying[];
  /** What happened to the agent so far. */
  events(...types: string[]): SavedEvent[];
  output(): Buffer;
}

export const agentName = "agent";

/** Starts a monitor, the program under it, and looks on until the test is over. */
export async function watchProgram(cell: Cell, model: ScriptedModel, runs: string): Promise<Watched> {
  const cache = cacheOf(process.env);
  const root = makeRoot(runs);
  const folder = join(root, "work");
  makeProject(folder);
  const home = join(root, "home");
  const daemon = await startDaemon({ home, config: clocksOf(cell.scenario) });
  endAgentsAfterwards(home);
  const stream = await openStream(daemon);
  const run = model.begin(cell.scenario, folder);
  const place = {
    program: fileOf(cache, cell.program),
    folder,
    settings: join(root, "settings"),
    shared: join(cache, "shared"),
    modelUrl: run.url,
    standIn: asksProvider(cell) ? await standInFor("api.anthropic.com", root, run.url) : null,
  };
  if (cell.scenario === "continued") await haveConversation(prepare[cell.program](place, "spawn", "normal"), home, run);
  const { command, environment } = prepare[cell.program](place, cell.mode, cell.scenario);
  const way = cell.mode === "run" ? "run" : "spawn";
  // Whoever has a task and sits at its prompt is nudged; nobody else is.
  const task = cell.scenario === "background" ? ["--task", "t-1"] : [];
  const words = ["-C", folder, process.execPath, rouse, way, "--name", agentName, ...task, "--", ...command];
  const surroundings = { home, environment: { TERM: "xterm-256color", LANG: "C.UTF-8", ...environment } };
  const terminal = way === "run" ? openTerminal("env", words, surroundings) : null;
  if (terminal === null) {
    const { code, stderr } = await startProgram("env", words, surroundings).ended;
    if (code !== 0) throw new Error(`rouse spawn ended with ${code}: ${stderr}`);
  }
  const sayings = lookOn(daemon);
  return {
    cell,
    daemon,
    model: run,
    folder,
    terminal,
    sayings,
    events: (...types) =>
      (stream.events as SavedEvent[]).filter(
        ({ type, payload }) =>
          (payload as { agentId?: string }).agentId === agentName && (types.length === 0 || types.includes(type)),
      ),
    output: () => terminal?.bytes() ?? readOutput(holderFiles(home, agentName), { from: 0, limit: 1e9 })?.bytes ?? none,
  };
}

/** A person has it do its work, in a window without Rouse, and closes that. */
async function haveConversation({ command, environment }: Surroundings, home: string, run: ModelRun): Promise<void> {
  const folder = join(home, "..", "work");
  const window = openTerminal("env", ["-C", folder, ...command], { home, environment });
  const isDone = () => run.requests.some(({ results, answeredAt }) => results === 4 && answeredAt !== null);
  await until("its work is done", isDone, 90_000);
  await until("its last words stand there", async () => (await window.screen()).join("").includes(lastWords), 20_000);
  window.close();
  await window.ended;
}

/** Claude Code asks about its account at a fixed address; where Codex asks is one of its settings. */
const asksProvider = ({ program, scenario }: Cell): boolean => program === "claude" && scenario === "quota";

const none = Buffer.alloc(0);

function makeRoot(runs: string): string {
  const root = mkdtempSync(join(runs, "r-"));
  afterwards(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  return root;
}

/** Often enough to be right about two seconds, and no burden for the monitor that is tried. */
const lookEveryMs = 150;

/** Asks again and again, and keeps what is new. */
function lookOn({ rouse }: Daemon): Saying[] {
  const sayings: Saying[] = [];
  let over = false;
  let before = "";
  const look = async (): Promise<boolean> => {
    const health = await rouse.getAgentHealth(agentName).catch(() => null);
    const key = health === null ? before : gist(health);
    if (health !== null && key !== before) sayings.push({ at: Date.now(), health });
    before = key;
    if (!over) await pause(lookEveryMs);
    return over;
  };
  const looking = until("nobody looks on any more", look, 600_000).catch(() => undefined);
  afterwards(async () => {
    over = true;
    await looking;
  });
  return sayings;
}

/** Without what changes all the time. */
function gist({ state, activity, terminal, findings, incarnation }: AgentHealth): string {
  const { kind, open, for: wait, until: end } = activity;
  const kinds = findings.map(({ kind, level }) => `${kind} ${level}`);
  const eyes = eyesIn({ terminal } as AgentHealth);
  return JSON.stringify([
    state,
    kind,
    open,
    wait,
    end,
    terminal?.needsYou?.what,
    terminal?.exit,
    kinds,
    incarnation,
    eyes,
  ]);
}

/** The eyes that are open, best first, where Rouse says so; a version that does not has one of two. */
export function eyesIn({ terminal }: AgentHealth): Eye[] {
  if (terminal === null) return [];
  const { eyes } = terminal as { eyes?: readonly EyeState[] };
  if (eyes !== undefined && eyes.length > 0) return eyes.filter(({ sees }) => sees).map(({ eye }) => eye);
  return [terminal.structured ? "stream" : "screen"];
}

/** Minutes become seconds where a scenario is about waiting; what is quick anyway is judged by the clocks that ship. */
export function clocksOf(scenario: Scenario): string {
  const short = patient.includes(scenario) ? idle : "";
  // Nobody is nudged or stopped: after five seconds without an answer it is a person's matter.
  const handsOver = scenario === "contain";
  return `health_monitoring:
  activity: { wait_margin_seconds: 5${scenario === "hang" ? ", model_request_seconds: 15" : ""} }
  terminal: { rate_limit_backoff_seconds: 5${short} }
  restart: { cooldown_seconds: 2 }${handsOver ? "\n  mode: assist" : ""}
  intervention:
    nudge: { interval_seconds: 20${handsOver ? ", enabled: false" : ""} }${handsOver ? "\n    escalation: { timeout_seconds: 5 }" : ""}
    termination: { grace_seconds: 3 }
`;
}

/** Longer than a quarter of a minute passes in these without anything new, and somebody impatient would act. */
const patient: readonly Scenario[] = ["hang", "slow", "tool", "background", "rate", "overload", "limit", "quota"];
const idle = ", idle_timeout_minutes: 0.25, completion_timeout_minutes: 0.25";
