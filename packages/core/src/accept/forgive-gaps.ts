import type { MonoMs } from "@rouse/contract";
import { type Doubt, type Gap, lastGap } from "../doubt.ts";
import type { Stage } from "../incident.ts";
import type { AgentRecord } from "../record.ts";
import { withoutStretch } from "./work-clock.ts";

/** Takes the monitor's own blind stretches out of an agent's clocks, and out of the time that others have to answer us, each once. */
export function forgiveGaps(record: AgentRecord, doubt: Doubt): AgentRecord {
  const newest = lastGap(doubt);
  if (newest === null || newest.id <= record.gapsSeen) return record;
  let { work, incident, nudge } = record;
  for (const gap of doubt.gaps) {
    if (gap.id <= record.gapsSeen) continue;
    work = withoutStretch(work, gap.from, gap.to);
    if (incident !== null) incident = { ...incident, stage: waitLonger(incident.stage, gap) };
    if (nudge !== null) nudge = { ...nudge, expiresAt: later(nudge.expiresAt, nudge.queuedAt, gap) };
  }
  return { ...record, work, incident, nudge, gapsSeen: newest.id };
}

/** Whoever was asked could not reach us meanwhile, and who was to be watched was not. */
function waitLonger(stage: Stage, gap: Gap): Stage {
  switch (stage.kind) {
    case "escalated": {
      const { escalation } = stage;
      return { ...stage, escalation: { ...escalation, until: later(escalation.until, escalation.openedAt, gap) } };
    }
    case "more-time":
    case "probation":
      return { ...stage, until: later(stage.until, gap.from, gap) };
    case "open":
    case "nudged":
    case "stopping":
    case "down":
      return stage;
  }
}

/** A deadline that was running when the gap began, put off by as much of it as it ran through. */
const later = (deadline: MonoMs, since: MonoMs, { from, to }: Gap): MonoMs =>
  deadline > from ? deadline + Math.max(0, to - Math.max(from, since)) : deadline;
