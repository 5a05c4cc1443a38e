import { type Doubt, lastGap } from "../doubt.ts";
import type { AgentRecord } from "../record.ts";
import { withoutStretch } from "./work-clock.ts";

/** Takes the monitor's own blind stretches out of an agent's clocks, each once. */
export function forgiveGaps(record: AgentRecord, doubt: Doubt): AgentRecord {
  const newest = lastGap(doubt);
  if (newest === null || newest.id <= record.gapsSeen) return record;
  let work = record.work;
  for (const gap of doubt.gaps) if (gap.id > record.gapsSeen) work = withoutStretch(work, gap.from, gap.to);
  return { ...record, work, gapsSeen: newest.id };
}
