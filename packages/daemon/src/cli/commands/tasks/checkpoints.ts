import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type CheckpointWithState, Fault, type WorkspaceSnapshot } from "@rouse/contract";
import { type CheckpointCalls, connectCheckpoints } from "@rouse/sdk";
import { noWorkspaces, type RestoreOutcome, type Workspaces } from "../../../ports/workspaces.ts";
import { type ExitCode, exit } from "../../exit-codes.ts";
import { findDaemon } from "../../find-daemon.ts";
import { showCheckpoint, showCheckpoints, showVerdict } from "../../show/checkpoints.ts";
import type { Surroundings } from "../../surroundings.ts";
import { type Line, styled } from "../../text/styled-text.ts";
import { type AddCommand, given, type Json, jsonOption, readWhole, tell } from "../add-command.ts";

/** Opens what restores working trees; only main.ts knows what that is. */
export type OpenWorkspaces = () => Promise<Workspaces>;

const help = `
A checkpoint is named by its id, or by TASK/NUMBER as in fix-42/7.

Examples:
  rouse checkpoints list fix-42
  rouse checkpoints show fix-42/7 --state > state.json
  rouse checkpoints verify fix-42
  rouse checkpoints restore fix-42/7 --to ../look-at-it`;

export const addCheckpoints =
  (openWorkspaces: OpenWorkspaces = async () => noWorkspaces): AddCommand =>
  (program, here, finish) => {
    const checkpoints = program
      .command("checkpoints")
      .description("what tasks can go on from: list, show, verify or restore")
      .addHelpText("after", help);
    for (const add of [addList, addShow, addVerify, addRestore(openWorkspaces)]) add(checkpoints, here, finish);
  };

const checkpointsOf = async (here: Surroundings): Promise<CheckpointCalls> =>
  connectCheckpoints(await findDaemon(here));

const addList: AddCommand = (checkpoints, here) => {
  checkpoints
    .command("list")
    .description("the checkpoints of a task, newest first")
    .argument("<task>", "id of a task")
    .option("--limit <n>", "at most so many (default: 100)", readWhole(1, 1000))
    .option(...jsonOption)
    .action(async (taskId: string, { limit, ...options }: Json & { limit?: number }) => {
      const found = await (await checkpointsOf(here)).checkpoints(taskId, given({ limit }));
      tell(here, options, { taskId, checkpoints: found }, () => showCheckpoints(taskId, found, here.now(), here.width));
    });
};

const addShow: AddCommand = (checkpoints, here) => {
  checkpoints
    .command("show")
    .description("show one checkpoint and its state")
    .argument("<checkpoint>", "its id, or TASK/NUMBER")
    .option("--state", "print the state alone, as JSON")
    .option(...jsonOption)
    .action(async (name: string, { state, ...options }: Json & { state?: true }) => {
      const found = await findNamed(await checkpointsOf(here), name);
      if (state) here.printJson(found.state);
      else tell(here, options, found, () => showCheckpoint(found, here.now(), here.width));
    });
};

const addVerify: AddCommand = (checkpoints, here, finish) => {
  checkpoints
    .command("verify")
    .description("check every hash of a task's checkpoints; ends with 1 when one is wrong")
    .argument("<task>", "id of a task")
    .option(...jsonOption)
    .action(async (taskId: string, options: Json) => {
      const verdict = await (await checkpointsOf(here)).verifyCheckpoints(taskId);
      tell(here, options, verdict, () => showVerdict(verdict, here.now(), here.width));
      finish(verdict.sound ? exit.fine : exit.wrong);
    });
};

interface RestoreOptions {
  readonly to?: string;
  readonly inPlace?: true;
}

const restoreHelp = `
The working tree that the checkpoint holds becomes a new work tree of its
repository, on no branch; nothing else is touched. With --in-place it replaces
the files where it was taken, after they were saved. A checkpoint without a
working tree has only its state, which is written to FOLDER/state.json.`;

const addRestore =
  (openWorkspaces: OpenWorkspaces): AddCommand =>
  (checkpoints, here, finish) => {
    checkpoints
      .command("restore")
      .description("restore a checkpoint's working tree into a new folder")
      .argument("<checkpoint>", "its id, or TASK/NUMBER")
      .option("--to <folder>", "where to; beside the folder it was taken from when not given")
      .option("--in-place", "over the files in the folder it was taken from")
      .addHelpText("after", restoreHelp)
      .action(async (name: string, options: RestoreOptions, command) => {
        if (options.to !== undefined && options.inPlace) command.error("error: --to and --in-place exclude each other");
        const found = await findNamed(await checkpointsOf(here), name);
        finish(await restoreCheckpoint(here, openWorkspaces, found, options));
      });
  };

/** Finds a checkpoint by its id, or by TASK/NUMBER because ids are long. */
async function findNamed(rouse: CheckpointCalls, name: string): Promise<CheckpointWithState> {
  const [, taskId, number] = /^(.+)\/(\d{1,15})$/.exec(name) ?? [];
  if (taskId === undefined) return rouse.checkpoint(name);
  const found = (await rouse.checkpoints(taskId, { limit: 1000 })).find((one) => one.number === Number(number));
  if (found !== undefined) return rouse.checkpoint(found.id);
  throw new Fault("checkpoint-unknown", `task ${taskId} has no checkpoint ${number} among its newest 1000`);
}

async function restoreCheckpoint(
  here: Surroundings,
  openWorkspaces: OpenWorkspaces,
  checkpoint: CheckpointWithState,
  options: RestoreOptions,
): Promise<ExitCode> {
  const { workspace } = checkpoint;
  if (workspace === null) {
    const file = writeState(here, checkpoint, options);
    here.print([["This checkpoint has no working tree. Its state is in ", styled("bold", file), "."]]);
    return exit.fine;
  }
  const target = options.to ?? besideOf(workspace, checkpoint);
  const to = options.inPlace ? "in-place" : resolve(here.workingFolder, target);
  const outcome = await (await openWorkspaces()).restore(workspace.commit, workspace.folder, to);
  here.print(describeOutcome(outcome, checkpoint));
  return outcome.kind === "restored" ? exit.fine : exit.wrong;
}

const besideOf = ({ folder }: WorkspaceSnapshot, { number }: CheckpointWithState): string =>
  join(dirname(folder), `${basename(folder)}-checkpoint-${number}`);

/** Writes a checkpoint's state to a file that only its owner may read. */
function writeState(here: Surroundings, { state }: CheckpointWithState, { to }: RestoreOptions): string {
  if (to === undefined)
    throw new Fault(
      "bad-request",
      "this checkpoint has no working tree, only a state; `--to FOLDER` writes that to FOLDER/state.json",
    );
  const folder = resolve(here.workingFolder, to);
  const file = join(folder, "state.json");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(file, `${JSON.stringify(state)}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? "it exists" : `it cannot be written (${code})`;
    throw new Fault("bad-request", `${file}: ${why}; choose another --to`, { cause: error });
  }
  return file;
}

function describeOutcome(outcome: RestoreOutcome, { taskId, number, step }: CheckpointWithState): Line[] {
  const what = `Checkpoint ${number} of ${taskId}, made after step ${step},`;
  switch (outcome.kind) {
    case "restored": {
      const { folder, before } = outcome;
      if (before === null) return [[what, " is in ", styled("bold", folder), ", a work tree of its own on no branch."]];
      return [[what, " is in ", styled("bold", folder), "; what was there is saved as ", before.commit, "."]];
    }
    case "refused":
      return [[styled("red", `Not restored: ${outcome.problem}`)]];
    case "failed": {
      const saved = outcome.before === null ? "" : `; what was there is saved as ${outcome.before.commit}`;
      return [[styled("red", `Could not be restored: ${outcome.problem}${saved}`)]];
    }
  }
}
