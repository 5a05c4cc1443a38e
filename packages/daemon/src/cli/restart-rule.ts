import type { AgentFamily, RestartRule, Settings } from "@rouse/contract";
import { InvalidArgumentError } from "commander";

const mostRestarts = 1000;

/** `no`, `on-failure`, `on-failure:5` or `always`. */
export function readRestartRule(text: string): RestartRule {
  if (text === "no" || text === "always") return { when: text };
  const given = /^on-failure(?::(\d+))?$/.exec(text);
  const max = given?.[1] === undefined ? null : Number(given[1]);
  if (given !== null && (max === null || (max >= 1 && max <= mostRestarts))) return { when: "on-failure", max };
  throw new InvalidArgumentError(
    `Expected no, on-failure, on-failure:N (1 to ${mostRestarts} times in its policy's window) or always.`,
  );
}

interface Known {
  readonly family: AgentFamily;
  readonly taskId: string | null;
  readonly settings: Settings;
}

/**
 * What follows when nobody said: who works on a task, and a program that is known to be an agent, is started again if it fails; any other command is run
 * once, as a shell would. A policy that restarts an agent for missed beats has said that it is to be started again.
 */
export function usualRestartRule({ family, taskId, settings }: Known): RestartRule {
  const isAgent = family !== "generic" || taskId !== null || settings.heartbeat.restart_on_missed_beats;
  return isAgent ? { when: "on-failure", max: null } : { when: "no" };
}
