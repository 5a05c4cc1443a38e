import type { DurationMs } from "@rouse/contract";
import type { AddCommand } from "../add-command.ts";
import { answerOf, type OrderOptions, orderAgent, stopByHolder, tellAnswer } from "./order-agent.ts";

export const defaultGrace: DurationMs = 10_000;

export const addTerminate: AddCommand = (program, here, finish) => {
  program
    .command("terminate")
    .aliases(["stop", "kill"])
    .description("end an agent that Rouse started, with every process it left")
    .argument("<agent>", "id of an agent")
    .option("--reason <text>", "for the record")
    .option("--force", "also when its uncommitted work cannot be saved first")
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      "\nWhat it has not committed is saved first (refs/rouse/ in its repository). It is asked to end\nand given the policy's grace (10 s), then forced. Ends with 1 when anything of it is still there.",
    )
    .action(async (agentId: string, options: OrderOptions) => {
      const withoutDaemon = async () => {
        const answer = answerOf(agentId, await stopByHolder(here, agentId, defaultGrace));
        const { keepDown } = await import("../../../holders/keep-down.ts");
        if (answer.outcome === "already-over" && (await keepDown(here.home, agentId)))
          return { agentId, outcome: "restart-cancelled" } as const;
        if (answer.outcome === "stopped") here.warn("its uncommitted work was not saved: only Rouse does that");
        return answer;
      };
      tellAnswer(here, await orderAgent(here, "terminateAgent", agentId, options, withoutDaemon), options, finish);
    });
};
