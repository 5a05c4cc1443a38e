import type { NudgeChannel } from "@rouse/contract";
import type { AgentRecord } from "../record.ts";

/**
 * The channel for a message to an agent. Acknowledgements go first for an agent that was seen to read them, else after
 * its own input; typing is the last resort. The channel that failed last time goes last.
 */
export function chooseChannel(record: AgentRecord): NudgeChannel | null {
  const { beats } = record;
  const { terminal } = record.seen;
  const { readsCommands } = record.identity;
  const { nudge } = record.ladder;
  if (terminal !== null && terminal.exit !== null) return null;
  const acknowledged = beats.accepted > 0;
  const input = terminal?.holder === "here" ? terminal.input : null;
  const ways: NudgeChannel[] = [];
  if (acknowledged && readsCommands) ways.push("acknowledgement");
  if (input === "stdin" || input === "hook" || input === "steer") ways.push(input);
  if (acknowledged && !readsCommands) ways.push("acknowledgement");
  if (input === "terminal") ways.push("terminal");
  const failed = nudge !== null && (nudge.state === "unconfirmed" || nudge.state === "not-sent") ? nudge.channel : null;
  return ways.find((way) => way !== failed) ?? ways[0] ?? null;
}
