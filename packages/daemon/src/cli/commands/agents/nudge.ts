import { setTimeout as pause } from "node:timers/promises";
import { type DurationMs, type NudgeResult, seconds } from "@rouse/contract";
import type { RouseClient } from "@rouse/sdk";
import { InvalidArgumentError } from "commander";
import { nameOfUser } from "../../caller.ts";
import { exit } from "../../exit-codes.ts";
import { connect } from "../../find-daemon.ts";
import { showNudge } from "../../show/escalations.ts";
import { inWords } from "../../text/phrases.ts";
import { type AddCommand, type Json, jsonOption, tell } from "../add-command.ts";

const help = `
The message goes by the best way there is: with the answer to the agent's next
heartbeat, through its own input, or, as the last resort and only where nothing
is half typed, in its terminal. Ends with 1 when there is no way to reach it, or
something stands in the way: somebody is attached, it asks something.

Examples:
  rouse nudge worker-1
  rouse nudge worker-1 "the database is back, go on with step 4"`;

export const addNudge: AddCommand = (program, here, finish) => {
  program
    .command("nudge")
    .description("send an agent a message: yours, or the reminder of its policy")
    .argument("<agent>", "id of an agent")
    .argument("[message]", "instead of the reminder, at most 2000 characters", readMessage)
    .option(...jsonOption)
    .addHelpText("after", help)
    .action(async (agentId: string, message: string | undefined, options: Json) => {
      const rouse = await connect(here);
      const result = await whatBecameOf(rouse, await rouse.sendNudge(agentId, message, nameOfUser()));
      tell(here, options, result, () => showNudge(result, here.width));
      finish(result.state === "not-sent" ? exit.wrong : exit.fine);
    });
};

/** A message that cannot be given is mostly reported within this time; a person should not wait longer for it. */
const patience: DurationMs = seconds(2);
const lookEvery: DurationMs = 200;
const outcomes = ["NUDGE_SENT", "NUDGE_NOT_SENT"] as const;

/** A message for the next heartbeat may wait for long; any other is given at once, or something stands in its way. */
async function whatBecameOf(rouse: RouseClient, nudged: NudgeResult): Promise<NudgeResult> {
  const { agentId, nudge } = nudged;
  if (nudged.state !== "queued" || nudged.channel === "acknowledgement") return nudged;
  for (let waited = 0; waited < patience; waited += lookEvery) {
    for (const { type, payload } of await rouse.events({ agentId, types: [...outcomes], limit: 10 })) {
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
