import type {
  ConfigSnapshot,
  EpochMs,
  EscalationContext,
  EscalationNotice,
  EscalationReport,
  FindingLevel,
  MonoMs,
  Policy,
  SavedEvent,
  Settings,
} from "@rouse/contract";
import { findingLevels } from "@rouse/contract";
import type { AgentRecord } from "@rouse/core";
import { describeAgent } from "../agents/describe-agent.ts";
import { describeOptions, type OptionParts } from "./recovery-options.ts";
import { hintsFor } from "./remediation-hints.ts";

/** How many of an agent's last events are told. */
export const eventsInNotice = 20;

export interface NoticeParts extends OptionParts {
  /** What the policy was made from. */
  readonly settings: Settings;
  /** In any order. */
  readonly lastEvents: readonly SavedEvent[];
  readonly toWall: (at: MonoMs) => EpochMs;
}

/** The question with all that whoever answers it may want to know. What an agent wrote stays in fields of its own. */
export function writeNotice(parts: NoticeParts): EscalationNotice {
  return { ...parts.report, context: describeContext(parts) };
}

function describeContext(parts: NoticeParts): EscalationContext {
  const { report, record, policy, settings, lastEvents, now, toWall } = parts;
  const { findings } = describeAgent(record, now, toWall, policy);
  const gravestFirst = findings
    .filter(({ level }) => level !== "note")
    .toSorted((a, b) => gravity(b.level) - gravity(a.level));
  return {
    traceIds: traceIdsOf(report, record),
    findings,
    lastEvents: lastEvents.toSorted((a, b) => a.id - b.id).slice(-eventsInNotice),
    config: snapshotOf(policy, settings),
    recovery: describeOptions(parts),
    hints: hintsFor(
      report,
      gravestFirst.map(({ kind }) => kind),
      record.seen.terminal !== null,
    ),
    answer: {
      path: `/api/v1/escalations/${encodeURIComponent(report.id)}/decision`,
      command: `rouse escalations decide ${report.id} DECISION`,
    },
  };
}

const gravity = (level: FindingLevel): number => findingLevels.indexOf(level);

/** Named, because the numbers of incidents and of lives look alike. */
const traceIdsOf = (
  report: EscalationReport,
  { agentId, life: { incarnation }, identity: { lineage }, task: { id: taskId } }: AgentRecord,
): string[] => [
  `escalation:${report.id}`,
  `incident:${report.incident}`,
  `incarnation:${agentId}/${incarnation}`,
  `lineage:${lineage}`,
  ...(taskId === null ? [] : [`task:${taskId}`]),
];

/** Part by part: the address of a webhook is often a secret, and what is added to the settings later may be one too. */
export function snapshotOf(policy: Policy, settings: Settings): ConfigSnapshot {
  const { patterns: _, ...terminal } = settings.terminal;
  return {
    policy: policy.id,
    settings: {
      enabled: settings.enabled,
      mode: settings.mode,
      protected: settings.protected,
      heartbeat: settings.heartbeat,
      health_check: settings.health_check,
      activity: settings.activity,
      intervention: settings.intervention,
      recovery: settings.recovery,
      restart: settings.restart,
      budgets: settings.budgets,
      escalation: { ack_sla_seconds: settings.escalation.ack_sla_seconds },
      terminal,
    },
  };
}
