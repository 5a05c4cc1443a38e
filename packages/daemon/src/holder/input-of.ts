import type { Hold } from "@rouse/contract";
import { takesMessages } from "@rouse/core";
import type { Spec } from "./spec.ts";

/**
 * How words can reach the agent. One whose stream is read has no screen that would show where to type, and what a program that is not known would do with
 * a line and Enter nobody can tell.
 */
export function inputOf({ command, io, structured, family }: Spec): NonNullable<Hold["input"]> {
  if (structured && takesMessages(command)) return "stdin";
  return io === "terminal" && !structured && family !== "generic" ? "terminal" : "none";
}
