import { closeSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { type EpochMs, Fault, type KeptStep } from "@rouse/contract";
import type { RouseClient, StepPage } from "@rouse/sdk";
import { interrupted } from "../../exit-codes.ts";
import { connect } from "../../find-daemon.ts";
import { openPrivateFile, type Surroundings, writeJson } from "../../surroundings.ts";
import { type AddCommand, given } from "../add-command.ts";

interface RecordOptions {
  readonly out?: string;
  readonly follow?: true;
  readonly text?: true;
  readonly force?: true;
}

const eventsPerPage = 10_000;
const lookEvery = 1000;

const help = `
One JSON object per line, in the format that rouse replay reads; a run is one
life of the agent, "trace" is AGENT/INCARNATION. Digests only: text is in it
with --text, and only where the setting loops.keep_text kept any.`;

export const addRecord: AddCommand = (program, here) => {
  program
    .command("record")
    .description("write down an agent's steps, for rouse replay")
    .argument("<agent>", "id of an agent")
    .option("-o, --out <file>", "write to a file instead of the terminal")
    .option("-f, --follow", "go on with what comes, until Ctrl-C")
    .option("--text", "with what was kept of texts, not digests only")
    .option("--force", "overwrite the file")
    .addHelpText("after", help)
    .action(async (agentId: string, options: RecordOptions) => {
      const rouse = await connect(here);
      const past = await readSince(rouse, agentId, null);
      const output = openOutput(here, options);
      const take = createRecorder(options.text === true, output.write);
      const texts = take(past.steps);
      if (options.follow) await follow(here, rouse, agentId, past.last, take);
      output.close();
      if (past.steps.length === 0) here.warn(`${agentId} has told of no steps yet`);
      else if (options.text && texts === 0)
        here.warn("no text was kept: set loops.keep_text: true in the configuration to keep some from now on");
    });
};

interface Told {
  readonly steps: readonly KeptStep[];
  /** The place of the last step, to go on from there. */
  readonly last: string | null;
}

/** Reads everything after a place, or everything there is. Steps are stored oldest first and paged from the newest. */
async function readSince(rouse: RouseClient, agentId: string, after: string | null): Promise<Told> {
  const pages: (readonly KeptStep[])[] = [];
  let last: string | null = null;
  for (let cursor: string | null = null, isMore = true; isMore; ) {
    const place = given({ after: after ?? undefined, cursor: cursor ?? undefined });
    const page: StepPage = await rouse.steps(agentId, { limit: eventsPerPage, ...place });
    pages.unshift(page.steps);
    last ??= page.last;
    cursor = page.next;
    isMore = cursor !== null;
  }
  return { steps: pages.flat(), last: last ?? after };
}

async function follow(
  here: Surroundings,
  rouse: RouseClient,
  agentId: string,
  from: string | null,
  take: (steps: readonly KeptStep[]) => unknown,
): Promise<void> {
  process.on("SIGINT", () => process.exit(interrupted));
  let after = from;
  let lost = false;
  for (;;) {
    await new Promise((resume) => setTimeout(resume, lookEvery));
    try {
      const told = await readSince(rouse, agentId, after);
      take(told.steps);
      after = told.last;
      lost = false;
    } catch (error) {
      if (!(error instanceof Fault && error.retryable)) throw error;
      // This is said once, not at every attempt.
      if (!lost) here.warn("the connection to Rouse was lost; trying again");
      lost = true;
    }
  }
}

/** Writes steps with their time since the first step of their run. Returns how many of them had a text. */
function createRecorder(withText: boolean, write: (line: object) => void): (steps: readonly KeptStep[]) => number {
  const began = new Map<string, EpochMs>();
  return (steps) => {
    let texts = 0;
    for (const { receivedAt, trace, at: _, args, text, ...event } of steps) {
      const time = Date.parse(receivedAt);
      const since = began.get(trace) ?? time;
      began.set(trace, since);
      const content = given({ args, text });
      if (Object.keys(content).length > 0) texts += 1;
      write({ trace, at: Math.max(0, time - since) / 1000, ...event, ...(withText ? content : {}) });
    }
    return texts;
  };
}

function openOutput(here: Surroundings, { out, force }: RecordOptions) {
  if (out === undefined) return { write: (line: object) => here.printJsonLine(line), close: () => {} };
  const file = openPrivateFile(resolve(here.workingFolder, out), force === true);
  return {
    write: (line: object) => void writeSync(file, `${writeJson(line, 0)}\n`),
    close: () => closeSync(file),
  };
}
