import { createHash } from "node:crypto";
import {
  canonicalJson,
  type DurationMs,
  days,
  describeIssues,
  type EpochMs,
  Heartbeat,
  printable,
  recogniseHeartbeat,
  renameSnakeCase,
} from "@rouse/contract";
import type { HeartbeatSignal } from "@rouse/core";

export interface RefusedBeat {
  readonly refused: true;
  readonly agentId: string;
  readonly sequenceNumber: number | null;
  readonly problem: string;
}

/** Turns what an agent sent into a signal. This is the edge: after it, nothing is unchecked and no two clocks are compared. */
export function readBeat(sent: unknown, time: EpochMs): HeartbeatSignal | RefusedBeat {
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) {
    return { refused: true, agentId: "", sequenceNumber: null, problem: "a heartbeat is a JSON object" };
  }
  const message = sent as Record<string, unknown>;
  const named = "agentId" in message ? message : renameSnakeCase(message);
  let beat = recogniseHeartbeat(named);
  if (beat === null) {
    const parsed = Heartbeat.safeParse(named);
    if (!parsed.success) return refuse(named, parsed.error.issues);
    beat = parsed.data;
  }
  const agentTime = beat.timestamp === undefined ? null : Date.parse(beat.timestamp);
  return {
    kind: "heartbeat",
    beat,
    checksum: beat.checksum === undefined ? "absent" : hasChecksum(message, beat.checksum) ? "right" : "wrong",
    agentTime,
    skew: agentTime === null ? null : agentTime - time,
    // Against the agent's own clock where it sent one: then its skew cancels out. Negative once the moment it named has passed: if it were
    // cut off at zero, each beat that names the same moment again would put off the end of the wait.
    waitsFor: beat.waitingUntil === undefined ? null : withinAYear(Date.parse(beat.waitingUntil) - (agentTime ?? time)),
  };
}

/** Dates end in the year 275760: the difference of two of them, added to now, need not be a date any more. */
const withinAYear = (wait: DurationMs): DurationMs => Math.max(-days(365), Math.min(wait, days(365)));

/** A message with a number such as 1e999 in it, which parses as infinity, has no canonical form: then no checksum is right. */
function hasChecksum(message: Record<string, unknown>, checksum: string): boolean {
  try {
    return checksumOf(message) === checksum.toLowerCase();
  } catch {
    return false;
  }
}

/** SHA-256 of the canonical JSON of everything but the checksum itself, as sent. */
export function checksumOf(message: Record<string, unknown>): string {
  const { checksum: _, ...rest } = message;
  return createHash("sha256").update(canonicalJson(rest)).digest("hex");
}

function refuse(
  sent: Record<string, unknown>,
  issues: readonly { path: PropertyKey[]; message: string }[],
): RefusedBeat {
  const { agentId, sequenceNumber } = sent;
  return {
    refused: true,
    agentId: typeof agentId === "string" ? printable(agentId, 128) : "",
    sequenceNumber: typeof sequenceNumber === "number" && Number.isInteger(sequenceNumber) ? sequenceNumber : null,
    problem: printable(describeIssues(issues, "heartbeat")),
  };
}
