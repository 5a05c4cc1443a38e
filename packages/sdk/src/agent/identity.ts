import { Fault, idRule, isAgentId, isId, type RecoveryContext } from "@rouse/contract";
import { readRecovery } from "../read-recovery.ts";
import type { AgentOptions } from "./agent-api.ts";
import type { Environment } from "./surroundings.ts";

export interface Identity {
  readonly id: string;
  readonly type: string | null;
  readonly task: string | null;
  /** Only its author named the task: the token that Rouse gave it names none, and may not speak for this one. */
  readonly isTaskUnknown: boolean;
  /** Of an agent that Rouse started: only Rouse numbers its lives. `null`: it announces its life itself. */
  readonly life: number | null;
  readonly recovered: RecoveryContext | null;
}

/**
 * Who it is. In an agent that Rouse started the environment decides, because its token speaks for that agent and task
 * alone; elsewhere what the author wrote does.
 */
export function identify(options: AgentOptions, env: Environment): Identity {
  const isTold = env["ROUSE_AGENT_ID"] !== undefined && env["ROUSE_TOKEN"] !== undefined && options.token === undefined;
  const id = isTold ? env["ROUSE_AGENT_ID"] : (options.id ?? env["ROUSE_AGENT_ID"]);
  const task = isTold ? (env["ROUSE_TASK_ID"] ?? options.task) : (options.task ?? env["ROUSE_TASK_ID"]);
  if (id === undefined || id === "")
    throw new Fault(
      "bad-request",
      "an agent needs an id: rouse.agent({ id: … }), or ROUSE_AGENT_ID in the environment",
    );
  if (!isAgentId(id)) throw new Fault("bad-request", `the id of an agent ${idRule}, and not with rouse.`);
  for (const [what, value] of [
    ["type", options.type],
    ["task", task],
  ] as const)
    if (value !== undefined && !isId(value)) throw new Fault("bad-request", `the ${what} of an agent ${idRule}`);
  const life = Number(env["ROUSE_INCARNATION"]);
  return {
    id,
    type: options.type ?? null,
    task: task ?? null,
    isTaskUnknown: isTold && env["ROUSE_TASK_ID"] === undefined && task !== undefined,
    life: isTold && Number.isSafeInteger(life) && life > 0 ? life : null,
    recovered: readRecovery(env),
  };
}
