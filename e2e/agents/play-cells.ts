import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Eye } from "@rouse/contract";
import { afterAll, afterEach, beforeAll, describe, inject, it } from "vitest";
import { cleanUp } from "../clean-up.ts";
import { type Cell, cells, idOf } from "./cells.ts";
import { judgeCell, type Verdict } from "./judge-cell.ts";
import type { Mode, ProgramName } from "./programs.ts";
import { type ScriptedModel, startScriptedModel } from "./scripted-model.ts";
import { stories } from "./stories.ts";
import type { Told } from "./story.ts";
import { eyesIn, type Watched, watchProgram } from "./watch-program.ts";

/** One line of the table. */
export interface CellResult {
  readonly id: string;
  readonly cell: Cell;
  readonly said: string;
  readonly eyes: readonly Eye[];
  readonly seconds: number | null;
  readonly verdict: Verdict;
  readonly recorded: boolean;
  /** What Rouse told while it failed, one event a line. */
  readonly story: readonly string[];
}

/** Every wait in a story has a bound of its own; this is for what nobody thought of. */
const patience = 300_000;

/** A test for each cell of the program in these modes, one after the other; two files of them run side by side. */
export function playCells(program: ProgramName, modes: readonly Mode[]): void {
  const { scenario, mode: onlyMode, results, recordings, runs, installed } = inject("agents");
  const there = installed.find(({ name }) => name === program);
  const mine = cells.filter(
    (cell) =>
      cell.program === there?.name &&
      modes.includes(cell.mode) &&
      (onlyMode ?? cell.mode) === cell.mode &&
      (scenario ?? cell.scenario) === cell.scenario,
  );
  let model: ScriptedModel | undefined;
  beforeAll(async () => {
    model = await startScriptedModel();
  });
  afterEach(cleanUp);
  afterAll(() => model?.stop());
  // Vitest wants at least one test in each file, whatever was asked for.
  describe.runIf(mine.length > 0)(program, () => {
    it.for(mine.map((cell) => ({ id: idOf(cell), cell })))(
      "$id",
      { timeout: patience },
      async ({ id, cell }, context) => {
        if (there?.there !== true) return context.skip(`${program} is not installed`);
        if (model === undefined) throw new Error("the model did not start");
        const result = await playCell(cell, model, { runs, recordings });
        writeFileSync(join(results, `${id}.json`), JSON.stringify(result));
        if (result.verdict.kind === "fails")
          throw new Error([`${result.said}: ${result.verdict.because}`, ...result.story].join("\n  "));
      },
    );
  });
}

async function playCell(
  cell: Cell,
  model: ScriptedModel,
  { runs, recordings }: { runs: string; recordings: string | null },
): Promise<CellResult> {
  const watched = await watchProgram(cell, model, runs);
  const story = stories[cell.scenario];
  const told: Told | Error = await story.play(watched).catch((error: Error) => error);
  const eyes = eyesDuring(watched);
  const id = idOf(cell);
  if (recordings !== null) record(recordings, id, watched);
  const verdict = judgeCell({ cell, story, told, eyes, events: watched.events() });
  return {
    id,
    cell,
    said: told instanceof Error ? whatRouseSays(watched) : told.said,
    eyes,
    seconds: told instanceof Error ? null : told.seconds,
    verdict,
    recorded: recordings !== null,
    story: verdict.kind === "fails" ? tellStory(watched) : [],
  };
}

/** What Rouse told and what the model was asked, in the order it happened. */
function tellStory({ events, model }: Watched): readonly string[] {
  const told = events().map(({ time, type, payload }) => ({
    at: Date.parse(time),
    line: `${type} ${shorten(payload)}`,
  }));
  const asked = model.requests.map(({ at, results, said }) => ({
    at,
    line: `model asked: ${results} results, ${said}`,
  }));
  return [...told, ...asked]
    .sort((a, b) => a.at - b.at)
    .slice(-60)
    .map(({ at, line }) => `${new Date(at).toISOString().slice(11, 23)} ${line}`);
}

function shorten(payload: object): string {
  const { agentId: _, ...rest } = payload as { agentId?: string };
  return JSON.stringify(rest).slice(0, 200);
}

/** The most it was ever seen by: an agent that is over is not seen by anything. */
function eyesDuring({ sayings }: Watched): readonly Eye[] {
  const all = sayings.map(({ health }) => eyesIn(health));
  return all.reduce((most, eyes) => (eyes.length >= most.length ? eyes : most), []);
}

/** What Rouse said last, when it is not what it should have said. */
function whatRouseSays({ sayings }: Watched): string {
  const last = sayings.at(-1)?.health;
  if (last === undefined) return "nothing";
  const { state, activity, terminal, findings } = last;
  const open = activity.open === undefined ? "" : ` ${activity.open.kind}`;
  const wait = activity.for === undefined ? "" : ` for ${activity.for}`;
  const needs = terminal?.needsYou == null ? "" : `, needs you: ${terminal.needsYou.what}`;
  const why = findings[0] === undefined ? "" : ` (${findings[0].kind})`;
  return `${state}${why}, ${activity.kind}${open}${wait}${needs}`;
}

/** The bytes as the program wrote them; `rouse spawn` gives it its own size, `rouse run` that of the window. */
function record(folder: string, id: string, watched: Watched): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${id}.raw`), watched.output());
}
