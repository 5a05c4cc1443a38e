import type { AuditRecord } from "@rouse/contract";
import type { Commit, EventToSave, SavedRecord, SavedSignal } from "../../ports/store.ts";
import type { PackedCommit, PackedEvent, PackedLine, PackedRecords, PackedSignals } from "./thread-messages.ts";

export const numbersPerSignal = 5;
export const kinds = ["heartbeat", "registered", "holder", "steps"] as const satisfies readonly SavedSignal["kind"][];

export function packSignals(signals: readonly SavedSignal[]): PackedSignals {
  const numbers = new Float64Array(signals.length * numbersPerSignal);
  const bodies = new Array<string>(signals.length);
  let n = 0;
  for (let i = 0; i < signals.length; i++) {
    const signal = signals[i] as SavedSignal;
    numbers[n++] = signal.id;
    numbers[n++] = signal.agentNo;
    numbers[n++] = signal.at;
    numbers[n++] = signal.time;
    numbers[n++] = kinds.indexOf(signal.kind);
    bodies[i] = signal.body;
  }
  return { numbers, bodies };
}

export function unpackSignals({ numbers, bodies }: PackedSignals): SavedSignal[] {
  return bodies.map((body, i) => {
    const n = i * numbersPerSignal;
    return {
      id: numbers[n] ?? 0,
      agentNo: numbers[n + 1] ?? 0,
      at: numbers[n + 2] ?? 0,
      time: numbers[n + 3] ?? 0,
      kind: kinds[numbers[n + 4] ?? 0] ?? "heartbeat",
      body,
    };
  });
}

export function packRecords(records: readonly SavedRecord[]): PackedRecords {
  const numbers = new Float64Array(records.length * 2);
  const texts = new Array<string>(records.length * 2);
  records.forEach(({ agentNo, through, agentId, record }, i) => {
    numbers[2 * i] = agentNo;
    numbers[2 * i + 1] = through;
    texts[2 * i] = agentId;
    texts[2 * i + 1] = record;
  });
  return { numbers, texts };
}

export function unpackRecords({ numbers, texts }: PackedRecords): SavedRecord[] {
  const records = new Array<SavedRecord>(numbers.length / 2);
  for (let i = 0; i < records.length; i++) {
    records[i] = {
      agentNo: numbers[2 * i] ?? 0,
      agentId: texts[2 * i] ?? "",
      through: numbers[2 * i + 1] ?? 0,
      record: texts[2 * i + 1] ?? "",
    };
  }
  return records;
}

export function packCommit(commit: Commit): PackedCommit {
  return {
    ...commit,
    signals: packSignals(commit.signals),
    records: packRecords(commit.records),
    events: commit.events.map(packEvent),
    audit: commit.audit.map((line) => ({ ...line, evidence: JSON.stringify(line.evidence) })),
  };
}

const packEvent = ({ id, time, agentId, event }: EventToSave): PackedEvent => ({
  id,
  time,
  agentId,
  type: event.type,
  payload: JSON.stringify(event.payload),
});

export const unpackLine = (line: PackedLine): AuditRecord => ({ ...line, evidence: readEvidence(line.evidence) });

/** Evidence that is no JSON was written by somebody else. Whoever checks the trail must still be shown it. */
function readEvidence(text: string): AuditRecord["evidence"] {
  try {
    return JSON.parse(text) as AuditRecord["evidence"];
  } catch {
    return { unreadable: text };
  }
}
