import type { Command } from "@rouse/contract";
import { type Doubt, lastGap } from "../doubt.ts";
import type { AgentRecord } from "../record.ts";
import type { Signal } from "../signal.ts";

export interface CheckedIn {
  readonly record: AgentRecord;
  readonly commands: readonly Command[];
}

/**
 * After the monitor was blind, everyone is asked to report in full: the request rides on the acknowledgement of the next beat, the beat after
 * that is the answer. An agent born after the gap has nothing to answer for.
 */
export function askToCheckIn(record: AgentRecord, signal: Signal, doubt: Doubt): CheckedIn {
  if (signal.kind !== "heartbeat") return { record, commands: [] };
  const gap = lastGap(doubt);
  if (
    gap !== null &&
    !doubt.frozen &&
    record.life.bornAt < gap.to &&
    (record.life.checkIn === null || record.life.checkIn.gap < gap.id)
  ) {
    return {
      record: { ...record, life: { ...record.life, checkIn: { gap: gap.id, state: "asked" } } },
      commands: [{ id: `check-in-${gap.id}`, kind: "check-in", because: `the monitor was blind (${gap.cause})` }],
    };
  }
  if (record.life.checkIn?.state !== "asked") return { record, commands: [] };
  return {
    record: { ...record, life: { ...record.life, checkIn: { ...record.life.checkIn, state: "answered" } } },
    commands: [],
  };
}
