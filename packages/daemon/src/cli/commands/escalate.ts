import { connect } from "../find-daemon.ts";
import { showAsked } from "../show/escalations.ts";
import type { AddCommand } from "./add-command.ts";
import { nameOfUser } from "./order-agent.ts";

const help = `
The orchestrator is asked what to do, by webhook where one is set, and the
question stands in \`rouse escalations\` until somebody answers it. One that is
open already is not asked twice.

Example:
  rouse escalate worker-1 --reason "it rewrites the same file"`;

export const addEscalate: AddCommand = (program, here) => {
  program
    .command("escalate")
    .description("ask the orchestrator about an agent")
    .argument("<agent>", "id of an agent")
    .requiredOption("--reason <text>", "why somebody should look, for the record (required)")
    .option("--json", "print one JSON document")
    .addHelpText("after", help)
    .action(async (agentId: string, { reason, json }: { reason: string; json?: true }) => {
      const result = await (await connect(here)).escalateToOrchestrator(agentId, reason, nameOfUser());
      if (json) here.printJson(result);
      else here.print(showAsked(result, here.now(), here.width));
    });
};
