import type { DurationMs, MonoMs } from "@rouse/contract";
import { type Doubt, lastGap, newIn } from "../doubt.ts";
import type { Stage } from "../incident.ts";
import type { AgentRecord } from "../record.ts";
import { withoutStretch } from "./work-clock.ts";

/**
 * Takes the monitor's own gaps out of an agent's clocks and out of the time that others have to answer, each gap once.
 */
export function forgiveGaps(record: AgentRecord, doubt: Doubt): AgentRecord {
  const newest = lastGap(doubt);
  if (newest === null || newest.id <= record.life.gapsSeen) return record;
  let { clock } = record.work;
  let { incident, nudge } = record.ladder;
  for (const gap of doubt.gaps) {
    if (gap.id <= record.life.gapsSeen) continue;
    const blind: BlindAfter = (since) => newIn(gap, doubt.gaps, since);
    clock = withoutStretch(clock, gap.from, gap.to);
    if (incident !== null) incident = { ...incident, stage: waitLonger(incident.stage, gap.from, blind) };
    if (nudge !== null) {
      const { expiresAt, queuedAt } = nudge;
      const unseen = nudge.unseen + blind(queuedAt);
      nudge = { ...nudge, unseen, expiresAt: later(expiresAt, queuedAt, gap.from, blind) };
    }
  }
  return {
    ...record,
    work: { ...record.work, clock },
    ladder: { ...record.ladder, incident, nudge },
    life: { ...record.life, gapsSeen: newest.id },
  };
}

/** How much of a gap lies after a moment and in no earlier gap. */
type BlindAfter = (since: MonoMs) => DurationMs;

/** During a gap nobody could answer us, and nobody on probation was watched. */
function waitLonger(stage: Stage, from: MonoMs, blind: BlindAfter): Stage {
  switch (stage.kind) {
    case "escalated": {
      const { escalation } = stage;
      const until = later(escalation.until, escalation.openedAt, from, blind);
      return { ...stage, escalation: { ...escalation, until } };
    }
    case "more-time":
    case "probation":
      return { ...stage, until: later(stage.until, from, from, blind) };
    case "open":
    case "nudged":
    case "stopping":
    case "down":
      return stage;
  }
}

/** Puts off a deadline that was running when the gap began by the part of the gap that it ran through. */
const later = (deadline: MonoMs, since: MonoMs, from: MonoMs, blind: BlindAfter): MonoMs =>
  deadline > from ? deadline + blind(since) : deadline;
