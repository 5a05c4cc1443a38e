import { setTimeout as pause } from "node:timers/promises";
import { type DurationMs, type NudgeResult, seconds } from "@rouse/contract";
import type { RouseClient } from "@rouse/sdk";
import { InvalidArgumentError } from "commander";
import { exit } from "../../exit-codes.ts";
import { connect } from "../../find-daemon.ts";
import { showNudge } from "../../show/escalations.ts";
import { inWords } from "../../text/phrases.ts";
import type { AddCommand } from "../add-command.ts";
import { nameOfUser } from "./order-agent.ts";

const help = `
It is told by the best way there is: with the answer to its next heartbeat,
through its own input, or, as the last resort and only where nothing else
stands, in its terminal. Ends with 1 when there is no way to reach it, or
something stands in the way: somebody is attached, it asks something.

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
      const rouse = await connect(here);
      const result = await whatBecameOf(rouse, await rouse.sendNudge(agentId, message, nameOfUser()));
      if (json) here.printJson(result);
      else here.print(showNudge(result, here.width));
      finish(result.state === "not-sent" ? exit.wrong : exit.fine);
    });
};

/** Hands mostly say sooner that something is in their way; a person who waits longer wonders what it is about. */
const patience: DurationMs = seconds(2);
const lookEvery: DurationMs = 200;

/** What waits for the agent's next heartbeat may wait for long; anything else is given at once, or something stands in its way. */
async function whatBecameOf(rouse: RouseClient, nudged: NudgeResult): Promise<NudgeResult> {
  const { agentId, nudge } = nudged;
  if (nudged.state !== "queued" || nudged.channel === "acknowledgement") return nudged;
  for (let waited = 0; waited < patience; waited += lookEvery) {
    for (const { type, payload } of await rouse.events({
      agentId,
      types: ["NUDGE_SENT", "NUDGE_NOT_SENT"],
      limit: 10,
    })) {
      if (type === "NUDGE_SENT" && payload.nudge === nudge)
        return { ...nudged, state: "sent", channel: payload.channel };
      if (type === "NUDGE_NOT_SENT" && payload.nudge === nudge)
        return { ...nudged, state: "not-sent", because: inWords(payload.because) };
    }
    await pause(lookEvery);
  }
  return nudged;
}

const longestMessage = 2000;

function readMessage(text: string): string {
  if (text.trim() !== "" && text.length <= longestMessage) return text;
  throw new InvalidArgumentError(`Expected 1 to ${longestMessage} characters; leave it out for the reminder.`);
}
