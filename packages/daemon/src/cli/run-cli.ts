import { Fault } from "@rouse/contract";
import { CommanderError } from "commander";
import type { OpenWorkspaces } from "./commands/checkpoints.ts";
import type { Up } from "./commands/up.ts";
import { createProgram } from "./create-program.ts";
import { exit, exitCodeOf } from "./exit-codes.ts";
import { leaveWhenNobodyReads, readSurroundings } from "./surroundings.ts";

const tokenAdvice = "Is ROUSE_HOME the data folder of that daemon, or ROUSE_TOKEN its token?";

/** Runs one command line and returns how it ended. A bug is thrown: it should be seen with its stack. */
export async function runCli(words: readonly string[], up: Up, openWorkspaces?: OpenWorkspaces): Promise<number> {
  const here = readSurroundings();
  let staysUp = false;
  leaveWhenNobodyReads(() => staysUp);
  let code: number = exit.fine;
  const program = createProgram(
    here,
    (options) => {
      staysUp = true;
      return up(options);
    },
    (outcome) => {
      code = outcome;
    },
    openWorkspaces,
  );
  try {
    await program.parseAsync(words, { from: "user" });
    return code;
  } catch (error) {
    // Commander has already said what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exit.fine : exit.usage;
    if (!(error instanceof Fault)) throw error;
    here.warn(error.code === "unauthorized" ? `${error.message}\n${tokenAdvice}` : error.message);
    return exitCodeOf(error);
  }
}
