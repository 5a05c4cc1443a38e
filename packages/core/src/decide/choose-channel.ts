import type { NudgeChannel } from "@rouse/contract";
import type { AgentRecord } from "../record.ts";

/**
 * Which way to put words to an agent, best first. Acknowledgements come first for an agent that was seen to read them, else after its own input; a
 * terminal is the last resort. A way that led nowhere last time is left for last.
 */
export function chooseChannel(record: AgentRecord): NudgeChannel | null {
  const { terminal, beats, readsCommands, nudge } = record;
  if (terminal !== null && terminal.exit !== null) return null;
  const acknowledged = beats.accepted > 0;
  const ways: NudgeChannel[] = [];
  if (acknowledged && readsCommands) ways.push("acknowledgement");
  if (terminal?.input === "stdin" && terminal.holder === "here") ways.push("stdin");
  if (terminal?.input === "hook" && terminal.holder === "here") ways.push("hook");
  if (terminal?.input === "steer" && terminal.holder === "here") ways.push("steer");
  if (acknowledged && !readsCommands) ways.push("acknowledgement");
  if (terminal?.input === "terminal" && terminal.holder === "here") ways.push("terminal");
  const failed = nudge !== null && (nudge.state === "unconfirmed" || nudge.state === "not-sent") ? nudge.channel : null;
  return ways.find((way) => way !== failed) ?? ways[0] ?? null;
}
