import { findProgram } from "../choose-family.ts";
import { optionsOfClaude, printsStream } from "./prints-stream.ts";

/** Whether the command starts Claude Code so that it takes messages as lines of JSON, for as long as its input is open. */
export function takesMessages(command: readonly string[]): boolean {
  const program = findProgram(command);
  if (program?.family !== "claude-code" || !printsStream(program.family, program.args)) return false;
  return optionsOfClaude(program.args).get("--input-format") === "stream-json";
}

/** One message, without the end of its line. */
export const messageLine = (text: string): string =>
  JSON.stringify({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null });
