import { Fault } from "@rouse/contract";
import { readStore } from "@rouse/holder";
import type { Adoption } from "../../../holders/adopt-agent.ts";
import { isForOwnHolders } from "../../caller.ts";
import { exit } from "../../exit-codes.ts";
import type { Surroundings } from "../../surroundings.ts";
import { type Line, styled } from "../../text/styled-text.ts";
import { type AddCommand, type Json, jsonOption, tell } from "../add-command.ts";

interface Adopted {
  readonly agentId: string;
  readonly outcome: Adoption | "over" | "refused";
  readonly problem?: string;
}

export const addAdopt: AddCommand = (program, here, finish) => {
  program
    .command("adopt")
    .description("take over agents that were started for another database")
    .argument("[agents...]", "ids of agents")
    .option("--all", "everybody who is held here")
    .option(...jsonOption)
    .addHelpText(
      "after",
      "\nAfter the database was replaced or restored, the agents that still run take no orders from\nit (`rouse doctor` names them). This hands them over; they do not notice.",
    )
    .action(async (agents: string[], { all, ...options }: Json & { all?: true }) => {
      if (!isForOwnHolders(here))
        throw new Fault("forbidden", "agents are handed over by their owner, at the machine they run on");
      if (agents.length > 0 === (all === true)) throw new Fault("bad-request", "name the agents, or say --all");
      const outcomes = await adoptAgents(here, all ? null : agents);
      tell(here, options, { agents: outcomes }, () =>
        outcomes.length === 0 ? [["nobody is held here"]] : outcomes.map(describe),
      );
      const fine = outcomes.every(({ outcome }) => outcome === "adopted" || outcome === "ours-already");
      finish(fine ? exit.fine : exit.wrong);
    });
};

/** `named` is `null` for all agents that are still held. */
async function adoptAgents(here: Surroundings, named: readonly string[] | null): Promise<Adopted[]> {
  const [{ adoptAgent }, { listHeld }, { findHolder }] = await Promise.all([
    import("../../../holders/adopt-agent.ts"),
    import("../../../holders/read-holder-files.ts"),
    import("../../find-held.ts"),
  ]);
  const ours = readStore(here.home);
  if (ours === null)
    throw new Fault("bad-request", "there is no database to hand agents over to; start `rouse up` first");
  const found = (named ?? listHeld(here.home)).map((agentId) => ({ agentId, file: findHolder(here.home, agentId) }));
  const outcomes: Adopted[] = [];
  for (const { agentId, file } of found) {
    try {
      if (file !== null) outcomes.push({ agentId, outcome: await adoptAgent(here.home, file, ours) });
      else if (named !== null) outcomes.push({ agentId, outcome: "over" });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      outcomes.push({ agentId, outcome: "refused", problem: error.message });
    }
  }
  return outcomes;
}

const earlierVersion =
  " was started by an earlier version, which cannot be handed over: stop Rouse, then `rouse terminate` it.";

function describe({ agentId, outcome, problem = "" }: Adopted): Line {
  const name = styled("bold", agentId);
  switch (outcome) {
    case "adopted":
      return [name, " is taken over; `rouse ps` shows it within seconds."];
    case "ours-already":
      return [name, " listens to this Rouse already."];
    case "over":
      return [name, " is over."];
    case "earlier-version":
      return [name, styled("yellow", earlierVersion)];
    case "refused":
      return [name, styled("red", ` was not taken over: ${problem}`)];
  }
}
