import { Fault } from "@rouse/contract";
import { CommanderError } from "commander";
import type { OpenAuditHands } from "./audit-trail.ts";
import type { Up } from "./commands/daemon/up.ts";
import type { OpenWorkspaces } from "./commands/tasks/checkpoints.ts";
import { createProgram } from "./create-program.ts";
import { exit, exitCodeOf } from "./exit-codes.ts";
import { leaveWithoutReader } from "./leave-without-reader.ts";
import { readSurroundings, type Surroundings } from "./surroundings.ts";

const tokenAdvice = "Is ROUSE_HOME the data folder of that daemon, or ROUSE_TOKEN its token?";
const shellAdvice =
  "A person who sits in this agent's shell says first: `unset ROUSE_URL ROUSE_TOKEN`; then the token in ROUSE_HOME counts.";

/** Runs one command line and returns its exit code. A bug is thrown: it should be seen with its stack. */
export async function runCli(
  words: readonly string[],
  up: Up,
  openWorkspaces?: OpenWorkspaces,
  openAuditHands?: OpenAuditHands,
): Promise<number> {
  const here = readSurroundings();
  let staysUp = false;
  leaveWithoutReader(() => staysUp);
  let code: number = exit.fine;
  const program = await createProgram(
    words,
    here,
    (options) => {
      staysUp = true;
      return up(options);
    },
    (outcome) => {
      code = outcome;
    },
    openWorkspaces,
    openAuditHands,
  );
  try {
    await program.parseAsync(words, { from: "user" });
    return code;
  } catch (error) {
    // Commander has already said what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exit.fine : exit.usage;
    if (!(error instanceof Fault)) throw error;
    here.warn([error.message, ...(await adviceOn(error, here))].join("\n"));
    return exitCodeOf(error);
  }
}

async function adviceOn({ code }: Fault, { environment }: Surroundings): Promise<string[]> {
  if (code === "unauthorized") return [tokenAdvice];
  if (code !== "forbidden") return [];
  const { agentTokenPrefix } = await import("../home/agent-token.ts");
  return environment.ROUSE_TOKEN?.startsWith(agentTokenPrefix) ? [shellAdvice] : [];
}
