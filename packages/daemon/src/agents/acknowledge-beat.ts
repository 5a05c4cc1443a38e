import { type Command, type EpochMs, type HeartbeatAck, toIso } from "@rouse/contract";

type Answer = Pick<HeartbeatAck, "status" | "sequenceNumber"> & { because: HeartbeatAck["because"] | null };

export function acknowledgeBeat(
  agentId: string,
  time: EpochMs,
  answer: Answer,
  commands: readonly Command[],
  problem?: string,
): HeartbeatAck {
  return {
    agentId,
    sequenceNumber: answer.sequenceNumber,
    status: answer.status,
    receivedAt: isoOf(time),
    commands: commands.length === 0 ? none : [...commands],
    ...(answer.because === null || answer.because === undefined ? {} : { because: answer.because }),
    ...(problem === undefined ? {} : { problem }),
  };
}

const none: Command[] = [];

/** Many beats share a millisecond; writing its date once is enough. */
let lastIso = { time: Number.NaN, text: "" };
function isoOf(time: EpochMs): string {
  if (lastIso.time !== time) lastIso = { time, text: toIso(time) };
  return lastIso.text;
}
