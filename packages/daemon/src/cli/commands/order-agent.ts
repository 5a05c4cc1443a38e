import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import { type DurationMs, Fault, type OrderAnswer, type OrderRequest, type StopOutcome } from "@rouse/contract";
import { connectRouse, type RouseClient } from "@rouse/sdk";
import { withoutAgentToken } from "../ask-daemon.ts";
import { exit } from "../exit-codes.ts";
import { findDaemon } from "../find-daemon.ts";
import type { Line } from "../show/styled-text.ts";
import { styled } from "../show/styled-text.ts";
import type { Surroundings } from "../surroundings.ts";

/** Longer than the daemon itself waits. */
const patience: DurationMs = 90_000;

export interface OrderOptions {
  readonly reason?: string;
  readonly force?: true;
  readonly json?: true;
}

/** Through the daemon, so that it is on record; without one, straight to the holder, and it is said. */
export async function orderAgent(
  here: Surroundings,
  what: "terminateAgent" | "recoverAgent",
  agentId: string,
  options: OrderOptions,
  withoutDaemon: () => Promise<OrderAnswer>,
): Promise<OrderAnswer> {
  try {
    return await (await openForOrders(here))[what](agentId, orderOf(options));
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "daemon-unreachable") throw error;
    here.warn("no Rouse is running, so this is not on record");
    return withoutDaemon();
  }
}

/** Orders take as long as the agent takes to end. */
export const openForOrders = async (here: Surroundings): Promise<RouseClient> =>
  connectRouse({ ...(await findDaemon(withoutAgentToken(here))), timeout: patience });

export const orderOf = ({ reason, force }: OrderOptions): Partial<OrderRequest> => ({
  actor: nameOfUser(),
  force: force === true,
  ...(reason === undefined ? {} : { reason }),
});

/** A person's order to a holder, given without a monitor. */
export async function stopByHolder(here: Surroundings, agentId: string, grace: DurationMs): Promise<StopOutcome> {
  const [{ connectHolder }, { findHolder }] = await Promise.all([
    import("../../holder/connect-holder.ts"),
    import("../find-holder.ts"),
  ]);
  const file = findHolder(here.home, agentId);
  if (file === null) return { kind: "already-over" };
  const line = await connectHolder(file.socket, { timeoutMs: 5000 });
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
    case "stopped":
      return { agentId, outcome: "stopped", forced: outcome.forced };
    case "already-over":
      return { agentId, outcome: "already-over" };
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
  if (json) here.printJson(answer);
  else here.print([describeAnswer(answer)]);
  const fine = answer.outcome === "stopped" || answer.outcome === "restarted" || answer.outcome === "already-over";
  finish(fine ? exit.fine : exit.wrong);
}

function describeAnswer(answer: OrderAnswer): Line {
  const name = styled("bold", answer.agentId);
  switch (answer.outcome) {
    case "stopped":
      return [
        name,
        answer.forced ? " had to be ended by force; nothing of it is left." : " ended; nothing of it is left.",
      ];
    case "already-over":
      return [name, " was over already."];
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
      return [name, styled("red", ` was left alone: ${answer.because.replaceAll("-", " ")}`)];
    case "under-way":
      return [name, " is not over yet; `rouse events -f` tells the rest."];
  }
}

/** A container's user id may have no name. */
export function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return "operator";
  }
}
