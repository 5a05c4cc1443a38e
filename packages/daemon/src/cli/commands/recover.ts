import type { OrderAnswer } from "@rouse/contract";
import { openHome } from "../../home/open-home.ts";
import type { Surroundings } from "../surroundings.ts";
import type { AddCommand } from "./add-command.ts";
import { answerOf, type OrderOptions, orderAgent, stopByHolder, tellAnswer } from "./order-agent.ts";
import { defaultGrace } from "./terminate.ts";

export const addRecover: AddCommand = (program, here, finish) => {
  program
    .command("recover")
    .description("end an agent that Rouse started and start it again the same way")
    .argument("<agent>", "id of an agent")
    .option("--reason <text>", "for the record")
    .option("--json", "print one JSON document")
    .action(async (agentId: string, options: OrderOptions) => {
      const answer = await orderAgent(here, "recoverAgent", agentId, options, () => recoverByHand(here, agentId));
      tellAnswer(here, answer, options, finish);
    });
};

async function recoverByHand(here: Surroundings, agentId: string): Promise<OrderAnswer> {
  const stopped = answerOf(agentId, await stopByHolder(here, agentId, defaultGrace));
  if (stopped.outcome !== "stopped" && stopped.outcome !== "already-over") return stopped;
  const [{ startAgain }, { readSpec }] = await Promise.all([
    import("../../holder/start-again.ts"),
    import("../../holder/read-holder-files.ts"),
  ]);
  const { folder, token } = openHome(here.home);
  const last = readSpec(folder, agentId)?.incarnation ?? 0;
  const { incarnation } = await startAgain({ home: folder, token, url: null }, agentId, last);
  return { agentId, outcome: "restarted", incarnation };
}
