import { InvalidArgumentError } from "commander";
import { exit } from "../exit-codes.ts";
import { connect } from "../find-daemon.ts";
import { showNudge } from "../show/escalations.ts";
import type { AddCommand } from "./add-command.ts";
import { nameOfUser } from "./order-agent.ts";

const help = `
It is told by the best way there is: with the answer to its next heartbeat,
through its own input, or, as the last resort and only where nothing else
stands, in its terminal. Ends with 1 when there is no way to reach it.

Examples:
  rouse nudge worker-1
  rouse nudge worker-1 "the database is back, go on with step 4"`;

export const addNudge: AddCommand = (program, here, finish) => {
  program
    .command("nudge")
    .description("put words to an agent: your own, or the reminder")
    .argument("<agent>", "id of an agent")
    .argument("[message]", "instead of the reminder, at most 2000 characters", readMessage)
    .option("--json", "print one JSON document")
    .addHelpText("after", help)
    .action(async (agentId: string, message: string | undefined, { json }: { json?: true }) => {
      const result = await (await connect(here)).sendNudge(agentId, message, nameOfUser());
      if (json) here.printJson(result);
      else here.print(showNudge(result, here.width));
      finish(result.state === "not-sent" ? exit.wrong : exit.fine);
    });
};

const longestMessage = 2000;

function readMessage(text: string): string {
  if (text.trim() !== "" && text.length <= longestMessage) return text;
  throw new InvalidArgumentError(`Expected 1 to ${longestMessage} characters; leave it out for the reminder.`);
}
