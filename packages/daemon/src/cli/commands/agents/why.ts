import { connect } from "../../find-daemon.ts";
import { agentDocument } from "../../show/standing.ts";
import { showWhy } from "../../show/why.ts";
import type { AddCommand } from "../add-command.ts";

export const addWhy: AddCommand = (program, here) => {
  program
    .command("why")
    .description("everything behind the verdict on one agent")
    .argument("<agent>", "id of an agent")
    .option("--json", "print one JSON document")
    .action(async (agentId: string, { json }: { json?: true }) => {
      const report = await (await connect(here)).why(agentId);
      if (json) here.printJson({ ...report, agent: agentDocument(report.agent) });
      else here.print(showWhy(report, here.now(), here.width));
    });
};
