import { connect } from "../find-daemon.ts";
import { showAgents } from "../show/agents.ts";
import type { AddCommand } from "./add-command.ts";

export const addPs: AddCommand = (program, here) => {
  program
    .command("ps")
    .description("list the agents and what they are doing")
    .option("--json", "print one JSON document")
    .action(async ({ json }: { json?: true }) => {
      const agents = await (await connect(here)).getAllAgentHealth();
      if (json) here.printJson({ agents });
      else here.print(showAgents(agents, here.now(), here.width));
    });
};
