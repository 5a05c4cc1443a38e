import type { HeartbeatAck } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { printAck, printAcks } from "./heartbeats.ts";

const accepted: HeartbeatAck = {
  agentId: "worker-1",
  sequenceNumber: 7,
  status: "accepted",
  receivedAt: "2026-02-05T10:30:00.000Z",
  commands: [],
};

describe("an acknowledgement in print", () => {
  it.each<HeartbeatAck>([
    accepted,
    { ...accepted, sequenceNumber: null },
    { ...accepted, commands: [{ id: "check-in-1", kind: "check-in", because: "the monitor was blind (restart)" }] },
    { ...accepted, status: "rejected", agentId: 'a"b\\', because: "malformed", problem: "agentId: no" },
    { ...accepted, status: "duplicate", because: "seen-before" },
  ])("says what it says: %j", (ack) => {
    expect(JSON.parse(printAck(ack))).toEqual(ack);
  });

  it("of many is one for each, in order", () => {
    expect(JSON.parse(printAcks([accepted, { ...accepted, sequenceNumber: 8 }]))).toEqual({
      acks: [accepted, { ...accepted, sequenceNumber: 8 }],
    });
    expect(printAcks([])).toBe('{"acks":[]}');
  });
});
