import { type CheckpointWithState, Fault } from "@rouse/contract";
import { type CheckpointCalls, connectCheckpoints } from "@rouse/sdk";
import { noWorkspaces, type Workspaces } from "../../../ports/workspaces.ts";
import { exit } from "../../exit-codes.ts";
import { findDaemon } from "../../find-daemon.ts";
import { showCheckpoint, showCheckpoints, showVerdict } from "../../show/checkpoints.ts";
import type { AddCommand } from "../add-command.ts";
import { readWhole } from "../read-whole.ts";
import { type RestoreOptions, restoreCheckpoint } from "./restore-checkpoint.ts";

/** Hands on folders, got only when they are needed. */
export type OpenWorkspaces = () => Promise<Workspaces>;

interface Json {
  readonly json?: true;
}

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

const addList: AddCommand = (checkpoints, here) => {
  checkpoints
    .command("list")
    .description("the checkpoints of a task, newest first")
    .argument("<task>", "id of a task")
    .option("--limit <n>", "at most so many (default: 100)", readWhole(1, 1000))
    .option("--json", "print one JSON document")
    .action(async (taskId: string, { limit, json }: Json & { limit?: number }) => {
      const rouse = connectCheckpoints(await findDaemon(here));
      const found = await rouse.checkpoints(taskId, limit === undefined ? {} : { limit });
      if (json) here.printJson({ taskId, checkpoints: found });
      else here.print(showCheckpoints(taskId, found, here.now(), here.width));
    });
};

const addShow: AddCommand = (checkpoints, here) => {
  checkpoints
    .command("show")
    .description("one checkpoint and its state")
    .argument("<checkpoint>", "its id, or TASK/NUMBER")
    .option("--state", "print the state alone, as JSON")
    .option("--json", "print one JSON document")
    .action(async (name: string, { state, json }: Json & { state?: true }) => {
      const found = await findNamed(connectCheckpoints(await findDaemon(here)), name);
      if (state) here.printJson(found.state);
      else if (json) here.printJson(found);
      else here.print(showCheckpoint(found, here.now(), here.width));
    });
};

const addVerify: AddCommand = (checkpoints, here, finish) => {
  checkpoints
    .command("verify")
    .description("works every hash out again; ends with 1 when one is wrong")
    .argument("<task>", "id of a task")
    .option("--json", "print one JSON document")
    .action(async (taskId: string, { json }: Json) => {
      const verdict = await connectCheckpoints(await findDaemon(here)).verifyCheckpoints(taskId);
      if (json) here.printJson(verdict);
      else here.print(showVerdict(verdict, here.now(), here.width));
      finish(verdict.sound ? exit.fine : exit.wrong);
    });
};

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
      .description("its working tree into a new folder")
      .argument("<checkpoint>", "its id, or TASK/NUMBER")
      .option("--to <folder>", "where to; beside the folder it was taken from when not given")
      .option("--in-place", "over the files in the folder it was taken from")
      .addHelpText("after", restoreHelp)
      .action(async (name: string, options: RestoreOptions, command) => {
        if (options.to !== undefined && options.inPlace) command.error("error: --to and --in-place exclude each other");
        const found = await findNamed(connectCheckpoints(await findDaemon(here)), name);
        finish(await restoreCheckpoint(here, openWorkspaces, found, options));
      });
  };

/** Ids are long: whoever looks at a list names the task and the number instead. */
async function findNamed(rouse: CheckpointCalls, name: string): Promise<CheckpointWithState> {
  const [, taskId, number] = /^(.+)\/(\d{1,15})$/.exec(name) ?? [];
  if (taskId === undefined) return rouse.checkpoint(name);
  const found = (await rouse.checkpoints(taskId, { limit: 1000 })).find((one) => one.number === Number(number));
  if (found !== undefined) return rouse.checkpoint(found.id);
  throw new Fault("checkpoint-unknown", `task ${taskId} has no checkpoint ${number} among its newest 1000`);
}
