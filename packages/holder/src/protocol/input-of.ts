import type { AgentFamily, AgentInput } from "@rouse/contract";
import { takesMessages } from "@rouse/core";
import type { Spec } from "./spec.ts";

/**
 * How words can reach the agent. One whose stream is read has no screen that would show where to type, and what a program that is not known would do with
 * a line and Enter nobody can tell.
 */
export function inputOf(
  { command, io, structured, family }: Spec,
  now: InputNow = { family, hooks: false, steer: false },
): AgentInput {
  if (structured && takesMessages(command)) return "stdin";
  if (now.hooks) return "hook";
  if (io !== "terminal" || structured || now.family === "generic") return "none";
  return now.steer ? "steer" : "terminal";
}

/** What runs, whether its hooks will ask for words before it rests, and whether words can be put into its turn. */
interface InputNow {
  readonly family: AgentFamily;
  readonly hooks: boolean;
  readonly steer: boolean;
}
