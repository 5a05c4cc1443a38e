import { randomUUID } from "node:crypto";
import {
  type DurationMs,
  detailsOf,
  Fault,
  HolderRefusal,
  OrderAnswer,
  type OrderRequest,
  type RecoveryStatus,
  type StopOutcome,
} from "@rouse/contract";
import { connectRouse, type RouseClient } from "@rouse/sdk";
import type { Command } from "commander";
import { openHome } from "../../../home/open-home.ts";
import { byUser, isForOwnHolders } from "../../caller.ts";
import { exit } from "../../exit-codes.ts";
import { findDaemon, findRunning } from "../../find-daemon.ts";
import { holdWords, wordBeginning } from "../../show/describe-event.ts";
import type { Surroundings } from "../../surroundings.ts";
import { drawFacts, type Fact } from "../../text/draw-table.ts";
import { inWords, wordDetails, wordNothingFound, wordSharedTurn } from "../../text/phrases.ts";
import { type Line, styled } from "../../text/styled-text.ts";
import { type AddCommand, type Json, jsonOption, reasonOption, tell } from "../add-command.ts";

/** How long to wait for the answer to an order: longer than the daemon itself waits for the agent. */
const patience: DurationMs = 90_000;

/** How long an agent has to end by itself when it is stopped without a daemon, whose policy would say. */
const defaultGrace: DurationMs = 10_000;

interface OrderOptions extends Json {
  readonly reason?: string;
  readonly force?: true;
}

export const addTerminate: AddCommand = (program, here, finish) => {
  program
    .command("terminate")
    .aliases(["stop", "kill"])
    .description("end an agent that Rouse started, with every process it left")
    .argument("<agent>", "id of an agent")
    .option(...reasonOption)
    .option("--force", "also when its uncommitted work cannot be saved first")
    .option(...jsonOption)
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

interface RecoverOptions extends OrderOptions {
  readonly task?: string;
  readonly status?: true;
}

const afterword = `
It goes on after the last completed step of its newest checkpoint that can be used, and is told so by
ROUSE_RECOVERY; while no Rouse is running it starts from the beginning. Your order clears the count of
earlier attempts.`;

export const addRecover: AddCommand = (program, here, finish) => {
  program
    .command("recover")
    .alias("restart")
    .description("end an agent that Rouse started and bring it back from its last checkpoint")
    .argument("[agent]", "id of an agent")
    .option("--task <id>", "whoever works on this task, instead")
    .option("--status", "with --task: only tell how far it has come")
    .option(...reasonOption)
    .option("--force", "also when its uncommitted work cannot be saved first")
    .option(...jsonOption)
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

async function tellStatus(here: Surroundings, taskId: string, options: RecoverOptions): Promise<void> {
  const status = await (await openForOrders(here)).getRecoveryStatus(taskId);
  tell(here, options, status, () => drawFacts(showRecovery(status), here.width));
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
    status.heldBy === null ? null : ["waits", [holdWords[status.heldBy]]],
    status.probationUntil === null ? null : ["watched until", [status.probationUntil]],
    status.because === null ? null : ["because", [wordReason(status.because)]],
  ];
}

/** Words a reason of the closed set. A message of the system stays as it is, because it may name a file. */
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

/** Gives an order through the daemon, so that it is on record; when surely none runs, to the holder, with a warning. */
async function orderAgent(
  here: Surroundings,
  what: "terminateAgent" | "recoverAgent",
  agentId: string,
  options: OrderOptions,
  withoutDaemon: () => Promise<OrderAnswer>,
): Promise<OrderAnswer> {
  const byHand = (): Promise<OrderAnswer> => {
    here.warn("no Rouse is running, so this is not on record");
    return withoutDaemon();
  };
  const isOurs = isForOwnHolders(here);
  if (isOurs && (await findRunning(here.home)) === null) return byHand();
  const rouse = await openForOrders(here);
  try {
    return await rouse[what](agentId, orderOf(options));
  } catch (error) {
    if (isOurs && errorCodeOf(error) === "ECONNREFUSED") return byHand();
    if (isOurs && what === "terminateAgent" && error instanceof Fault && error.code === "store-unavailable")
      throw await withWayOut(here, agentId, error);
    throw orInDoubt(error, `rouse events --agent ${agentId}`);
  }
}

/** A client that waits long: an order takes as long as the agent takes to end. */
const openForOrders = async (here: Surroundings): Promise<RouseClient> =>
  connectRouse({ ...(await findDaemon(here)), timeout: patience });

/** Rouse does nothing that it cannot put on record. The message says how to end the agent without Rouse. */
async function withWayOut(here: Surroundings, agentId: string, error: Fault): Promise<Fault> {
  const { isHolderAlive, readHolderFile } = await import("../../../holders/read-holder-files.ts");
  const file = readHolderFile(here.home, agentId);
  const pid = file !== null && isHolderAlive(file) ? file.agent?.pid : undefined;
  const byHand = pid === undefined ? "" : `; or end it yourself: \`kill ${pid}\` (its process; not on record)`;
  const message = `${error.message}. Make room and say it again${byHand}`;
  return new Fault(error.code, message, { retryable: true, cause: error });
}

/** Errors that leave it open whether an order that was sent has arrived. */
const brokenOff = new Set(["TimeoutError", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** A saved order is carried out even when the daemon died before it answered: the error says where to look. */
function orInDoubt(error: unknown, whereToLook: string): unknown {
  if (!(error instanceof Fault) || !brokenOff.has(errorCodeOf(error))) return error;
  const message = `${error.message}; the order may be under way all the same: \`${whereToLook}\` tells`;
  return new Fault(error.code, message, { retryable: false, cause: error.cause });
}

function errorCodeOf(error: unknown): string {
  if (!(error instanceof Fault) || error.code !== "daemon-unreachable" || !(error.cause instanceof Error)) return "";
  const { name, cause } = error.cause;
  return name === "TimeoutError" ? name : cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

const orderOf = (options: OrderOptions): Partial<OrderRequest> => ({
  ...byUser(options),
  force: options.force === true,
});

/** Stops an agent through its holder, without a monitor. */
export async function stopByHolder(here: Surroundings, agentId: string, grace: DurationMs): Promise<StopOutcome> {
  const [{ connectHolder }, { doorOf }, { findHolder }] = await Promise.all([
    import("../../../holders/connect-holder.ts"),
    import("../../../holders/read-holder-files.ts"),
    import("../../find-held.ts"),
  ]);
  const file = findHolder(here.home, agentId);
  if (file === null) return { kind: "already-over" };
  const line = await connectHolder(doorOf(here.home, file), { timeoutMs: 5000 });
  try {
    const { exit: ended } = await line.probe();
    if (ended !== null) return { kind: "already-over" };
    const order = {
      key: `${agentId}/by-hand/${randomUUID()}`,
      incarnation: file.incarnation,
      epoch: null,
      order: { kind: "stop" as const, graceMs: grace },
    };
    return await line.order(order, grace + 30_000);
  } finally {
    line.close();
  }
}

export function answerOf(agentId: string, outcome: StopOutcome): OrderAnswer {
  switch (outcome.kind) {
    case "stopped": {
      const { forced, tier } = outcome;
      return { agentId, outcome: "stopped", forced, ...(tier && { tier }), ...detailsOf(outcome) };
    }
    case "already-over":
      return { agentId, outcome: "already-over", ...detailsOf(outcome) };
    case "termination_incomplete":
      return { agentId, outcome: "termination_incomplete", survivors: outcome.survivors };
    case "refused":
      return { agentId, outcome: "refused", because: outcome.because };
  }
}

export function tellAnswer(
  here: Surroundings,
  answer: OrderAnswer,
  options: Json,
  finish: (code: number) => void,
): void {
  if (!OrderAnswer.safeParse(answer).success)
    throw new Fault("daemon-unreachable", "what answered is not a Rouse that this client understands");
  tell(here, options, answer, () => [describeAnswer(answer), ...describeDetails(answer)]);
  const goesOn = answer.outcome === "stopped" && answer.sharedTurn === "may-go-on";
  finish(asWanted.has(answer.outcome) && !goesOn ? exit.fine : exit.wrong);
}

const asWanted = new Set<OrderAnswer["outcome"]>(["stopped", "restarted", "already-over", "restart-cancelled"]);

function describeAnswer(answer: OrderAnswer): Line {
  const name = styled("bold", answer.agentId);
  switch (answer.outcome) {
    case "stopped":
      return [name, answer.forced ? " had to be ended by force; " : " ended; ", whatIsLeft(answer)];
    case "already-over":
      return [name, " was over already."];
    case "restart-cancelled":
      return [name, " was down and will not be started again."];
    case "restarted":
      return [name, ` runs again, incarnation ${answer.incarnation}.`];
    case "not-restarted":
      return [name, styled("red", ` could not be started again: ${answer.problem}`)];
    case "termination_incomplete": {
      const left = answer.survivors.map(({ pid, name: what }) => `${pid} ${what}`).join(", ");
      return [name, styled("red", ` could not be ended: ${left} still there`)];
    }
    case "refused":
      return [
        name,
        styled("red", ` was left alone: ${inWords(answer.because)}`),
        HolderRefusal.safeParse(answer.because).success ? "; `rouse doctor` says what to do" : "",
      ];
    case "under-way":
      return [name, " is not over yet; `rouse events -f` tells the rest."];
  }
}

/** Says only what was checked: where a process could escape, nobody can say that none did. */
function whatIsLeft(answer: Extract<OrderAnswer, { outcome: "stopped" }>): Line[number] {
  const { tier, mayHaveLeft, sharedTurn, spared } = answer;
  if (sharedTurn === "may-go-on") return styled("red", `${wordSharedTurn(sharedTurn)}.`);
  if (sharedTurn !== undefined) return `${wordSharedTurn(sharedTurn)}.`;
  if (tier !== "cgroup" || mayHaveLeft !== undefined) return `${wordNothingFound(tier, spared !== undefined)}.`;
  return `nothing ${spared === undefined ? "" : "else "}of it is left.`;
}

/** One line for each server that ended with the agent and each process that was left alone. */
function describeDetails(answer: OrderAnswer): Line[] {
  if (answer.outcome !== "stopped" && answer.outcome !== "already-over") return [];
  return wordDetails(answer).map((text) => [text]);
}
