import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import {
  type DurationMs,
  detailsOf,
  Fault,
  HolderRefusal,
  OrderAnswer,
  type OrderRequest,
  type StopOutcome,
} from "@rouse/contract";
import { connectRouse, type RouseClient } from "@rouse/sdk";
import { agentTokenPrefix } from "../../../home/agent-token.ts";
import { exit } from "../../exit-codes.ts";
import { findDaemon, findRunning } from "../../find-daemon.ts";
import type { Surroundings } from "../../surroundings.ts";
import { wordDetails, wordNothingFound, wordSharedTurn } from "../../text/phrases.ts";
import { type Line, styled } from "../../text/styled-text.ts";

/** Longer than the daemon itself waits. */
const patience: DurationMs = 90_000;

export interface OrderOptions {
  readonly reason?: string;
  readonly force?: true;
  readonly json?: true;
}

/** Through the daemon, so that it is on record; when surely none is there, straight to the holder, and it is said. */
export async function orderAgent(
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

/** Orders take as long as the agent takes to end. */
export const openForOrders = async (here: Surroundings): Promise<RouseClient> =>
  connectRouse({ ...(await findDaemon(here)), timeout: patience });

/** A Rouse named by its address may have its holders elsewhere; and what an agent may not order, it may not do by hand. */
export const isForOwnHolders = (here: Surroundings): boolean => !here.environment.ROUSE_URL && !isInsideAgent(here);

const isInsideAgent = ({ environment }: Surroundings): boolean =>
  environment.ROUSE_TOKEN?.startsWith(agentTokenPrefix) === true;

/** For what is done without the daemon, which would refuse it. */
export function refuseInsideAgent(here: Surroundings, what: string): void {
  if (isInsideAgent(here)) throw new Fault("forbidden", `${what}, and the token here is an agent's`);
}

/** Nothing is done that cannot be put on record. Whoever has to end it all the same can do so without Rouse. */
async function withWayOut(here: Surroundings, agentId: string, error: Fault): Promise<Fault> {
  const { isHolderAlive, readHolderFile } = await import("../../../holders/read-holder-files.ts");
  const file = readHolderFile(here.home, agentId);
  const pid = file !== null && isHolderAlive(file) ? file.agent?.pid : undefined;
  const byHand = pid === undefined ? "" : `; or end it yourself: \`kill ${pid}\` (its process; not on record)`;
  const message = `${error.message}. Make room and say it again${byHand}`;
  return new Fault(error.code, message, { retryable: true, cause: error });
}

/** What comes between an order that was sent and its answer. */
const brokenOff = new Set(["TimeoutError", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** An order that was saved is carried out, though nobody lived to answer it. */
export function orInDoubt(error: unknown, whereToLook: string): unknown {
  if (!(error instanceof Fault) || !brokenOff.has(errorCodeOf(error))) return error;
  const message = `${error.message}; the order may be under way all the same: \`${whereToLook}\` tells`;
  return new Fault(error.code, message, { retryable: false, cause: error.cause });
}

function errorCodeOf(error: unknown): string {
  if (!(error instanceof Fault) || error.code !== "daemon-unreachable" || !(error.cause instanceof Error)) return "";
  const { name, cause } = error.cause;
  return name === "TimeoutError" ? name : cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

export const orderOf = ({ reason, force }: OrderOptions): Partial<OrderRequest> => ({
  actor: nameOfUser(),
  force: force === true,
  ...(reason === undefined ? {} : { reason }),
});

/** A person's order to a holder, given without a monitor. */
export async function stopByHolder(here: Surroundings, agentId: string, grace: DurationMs): Promise<StopOutcome> {
  const [{ connectHolder }, { doorOf }, { findHolder }] = await Promise.all([
    import("../../../holders/connect-holder.ts"),
    import("../../../holders/read-holder-files.ts"),
    import("../../find-holder.ts"),
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
  { json }: OrderOptions,
  finish: (code: number) => void,
): void {
  if (!OrderAnswer.safeParse(answer).success)
    throw new Fault("daemon-unreachable", "what answered is not a Rouse that this client understands");
  if (json) here.printJson(answer);
  else here.print([describeAnswer(answer), ...describeDetails(answer)]);
  const goesOn = answer.outcome === "stopped" && answer.sharedTurn === "may-go-on";
  finish(asWanted.has(answer.outcome) && !goesOn ? exit.fine : exit.wrong);
}

const asWanted: ReadonlySet<OrderAnswer["outcome"]> = new Set<OrderAnswer["outcome"]>([
  "stopped",
  "restarted",
  "already-over",
  "restart-cancelled",
]);

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
    case "termination_incomplete":
      return [
        name,
        styled(
          "red",
          ` could not be ended: ${answer.survivors.map(({ pid, name: what }) => `${pid} ${what}`).join(", ")} still there`,
        ),
      ];
    case "refused":
      return [
        name,
        styled("red", ` was left alone: ${answer.because.replaceAll("-", " ")}`),
        HolderRefusal.safeParse(answer.because).success ? "; `rouse doctor` says what to do" : "",
      ];
    case "under-way":
      return [name, " is not over yet; `rouse events -f` tells the rest."];
  }
}

/** Said is what was looked at: where somebody could get out of sight, nobody can say that nobody did. */
function whatIsLeft(answer: Extract<OrderAnswer, { outcome: "stopped" }>): Line[number] {
  const { tier, mayHaveLeft, sharedTurn, spared } = answer;
  if (sharedTurn === "may-go-on") return styled("red", `${wordSharedTurn(sharedTurn)}.`);
  if (sharedTurn !== undefined) return `${wordSharedTurn(sharedTurn)}.`;
  if (tier !== "cgroup" || mayHaveLeft !== undefined) return `${wordNothingFound(tier, spared !== undefined)}.`;
  return `nothing ${spared === undefined ? "" : "else "}of it is left.`;
}

/** A line each: what went with it that people may have used, and what did not go. */
function describeDetails(answer: OrderAnswer): Line[] {
  if (answer.outcome !== "stopped" && answer.outcome !== "already-over") return [];
  return wordDetails(answer).map((text) => [text]);
}

/** A container's user id may have no name. */
export function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return "operator";
  }
}
