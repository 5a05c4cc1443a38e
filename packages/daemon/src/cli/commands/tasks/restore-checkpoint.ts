import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type CheckpointWithState, Fault, type WorkspaceSnapshot } from "@rouse/contract";
import type { RestoreOutcome, Workspaces } from "../../../ports/workspaces.ts";
import { type ExitCode, exit } from "../../exit-codes.ts";
import type { Surroundings } from "../../surroundings.ts";
import { type Line, styled } from "../../text/styled-text.ts";

export interface RestoreOptions {
  readonly to?: string;
  readonly inPlace?: true;
}

export async function restoreCheckpoint(
  here: Surroundings,
  openWorkspaces: () => Promise<Workspaces>,
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

/** What an agent knew is nobody else's business: only its owner may read the file. */
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
