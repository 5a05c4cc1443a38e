import type { HeartbeatAck } from "@rouse/contract";

/** The ordinary acknowledgement, written out: ids of accepted beats are plain, so nothing in it needs escaping. */
export function printAck(ack: HeartbeatAck): string {
  if (ack.status !== "accepted" || ack.commands.length > 0) return JSON.stringify(ack);
  return `{"agentId":"${ack.agentId}","sequenceNumber":${ack.sequenceNumber},"status":"accepted","receivedAt":"${ack.receivedAt}","commands":[]}`;
}

export const printAcks = (acks: readonly HeartbeatAck[]): string => `{"acks":[${acks.map(printAck).join(",")}]}`;
