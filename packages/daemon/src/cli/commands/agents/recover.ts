import type { OrderAnswer, RecoveryStatus } from "@rouse/contract";
import type { Command } from "commander";
import { openHome } from "../../../home/open-home.ts";
import { wordBeginning } from "../../show/describe-event.ts";
import type { Surroundings } from "../../surroundings.ts";
import { drawFacts, type Fact } from "../../text/draw-table.ts";
import { inWords } from "../../text/phrases.ts";
import { styled } from "../../text/styled-text.ts";
import type { AddCommand } from "../add-command.ts";
import {
  answerOf,
  type OrderOptions,
  openForOrders,
  orderAgent,
  orderOf,
  orInDoubt,
  stopByHolder,
  tellAnswer,
} from "./order-agent.ts";
import { defaultGrace } from "./terminate.ts";

interface RecoverOptions extends OrderOptions {
  readonly task?: string;
  readonly status?: true;
}

const afterword = `
It goes on after the last completed step of its newest checkpoint that can be used, and is told so by
ROUSE_RECOVERY; while no Rouse is running it starts from the beginning. Your word clears the count of
earlier attempts.`;

export const addRecover: AddCommand = (program, here, finish) => {
  program
    .command("recover")
    .alias("restart")
    .description("end an agent that Rouse started and bring it back from its last checkpoint")
    .argument("[agent]", "id of an agent")
    .option("--task <id>", "whoever works on this task, instead")
    .option("--status", "with --task: only tell how far it has come")
    .option("--reason <text>", "for the record")
    .option("--force", "also when its uncommitted work cannot be saved first")
    .option("--json", "print one JSON document")
    .addHelpText("after", afterword)
    .action(async (agentId: string | undefined, options: RecoverOptions, command: Command) => {
      if ((agentId === undefined) === (options.task === undefined)) command.error("error: name an agent or a --task");
      if (options.status && options.task === undefined) command.error("error: --status goes with --task");
      if (options.task !== undefined && options.status) return tellStatus(here, options.task, options);
      const answer =
        options.task !== undefined
          ? await recoverTask(here, options.task, options)
          : await orderAgent(here, "recoverAgent", agentId ?? "", options, () => recoverByHand(here, agentId ?? ""));
      tellAnswer(here, answer, options, finish);
    });
};

async function recoverTask(here: Surroundings, taskId: string, options: RecoverOptions): Promise<OrderAnswer> {
  const rouse = await openForOrders(here);
  try {
    return await rouse.initiateRecovery(taskId, orderOf(options));
  } catch (error) {
    throw orInDoubt(error, `rouse recover --task ${taskId} --status`);
  }
}

async function tellStatus(here: Surroundings, taskId: string, { json }: RecoverOptions): Promise<void> {
  const status = await (await openForOrders(here)).getRecoveryStatus(taskId);
  if (json) return here.printJson(status);
  here.print(drawFacts(showRecovery(status), here.width));
}

function showRecovery(status: RecoveryStatus): (Fact | null)[] {
  const { last } = status;
  const step = last === null || last.checkpoint === null ? null : `after step ${last.step}`;
  const from = last === null ? "never" : wordBeginning(last.lost, step);
  return [
    ["task", [styled("bold", status.taskId)]],
    ["agent", [status.agentId === null ? "nobody" : `${status.agentId}, incarnation ${status.incarnation}`]],
    ["recovery", [inWords(status.phase)]],
    ["brought back", [from]],
    status.agentId === null ? null : ["attempts", [`${status.attempts} of ${status.attemptsAllowed}`]],
    status.nextAttemptAt === null ? null : ["next attempt", [status.nextAttemptAt]],
    status.probationUntil === null ? null : ["watched until", [status.probationUntil]],
    status.because === null ? null : ["because", [wordReason(status.because)]],
  ];
}

/** A word or two of a closed set; what the system said is left as it is, for it may name a file. */
const wordReason = (because: string): string => (/^(?:[A-Z]+: )?[a-z-]+$/.test(because) ? inWords(because) : because);

async function recoverByHand(here: Surroundings, agentId: string): Promise<OrderAnswer> {
  const stopped = answerOf(agentId, await stopByHolder(here, agentId, defaultGrace));
  if (stopped.outcome !== "stopped" && stopped.outcome !== "already-over") return stopped;
  const [{ startAgain }, { readSpec }] = await Promise.all([
    import("../../../holders/start-again.ts"),
    import("../../../holders/read-holder-files.ts"),
  ]);
  const { folder, token } = openHome(here.home);
  const last = readSpec(folder, agentId)?.incarnation ?? 0;
  const { incarnation } = await startAgain({ home: folder, token, url: null, books: null }, agentId, last);
  here.warn("its uncommitted work was not saved, and it starts from the beginning: only Rouse reads checkpoints");
  return { agentId, outcome: "restarted", incarnation };
}
