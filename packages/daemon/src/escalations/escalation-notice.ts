import {
  type Checkpoint,
  type ConfigSnapshot,
  type DecisionEffect,
  type DurationMs,
  type EpochMs,
  type EscalationContext,
  type EscalationDecision,
  type EscalationNotice,
  type EscalationReport,
  type FindingLevel,
  findingLevels,
  type MonoMs,
  type Policy,
  type RecoveryOptions,
  type SavedEvent,
  type Settings,
} from "@rouse/contract";
import { type AgentRecord, restartsAllowed, type TerminalFacts } from "@rouse/core";
import { describeAgent } from "../agents/describe-agent.ts";
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

export interface OptionParts {
  readonly report: EscalationReport;
  readonly record: AgentRecord;
  readonly policy: Policy;
  /** The newest checkpoint of its task, when it can be read. */
  readonly checkpoint: Pick<Checkpoint, "id" | "step" | "stepName" | "time"> | null;
  readonly now: MonoMs;
}

/** The way back, and what the ladder would make of each decision if it came now. */
export function describeOptions(parts: OptionParts): RecoveryOptions {
  const { report, record, policy, now } = parts;
  const newest = parts.checkpoint;
  const known =
    record.task.checkpoint === null ? null : { id: record.task.checkpoint, step: null, stepName: null, time: null };
  const checkpoint =
    newest === null ? known : { id: newest.id, step: newest.step, stepName: newest.stepName, time: newest.time };
  return {
    supervised: record.seen.terminal !== null,
    checkpoint,
    recoveriesLeft: recoveriesLeft(record, policy, now),
    restartsLeft: Math.max(
      0,
      restartsAllowed(record, policy) - countSince(record.recovery.restarts, now - policy.restart.window),
    ),
    options: report.decisions.map((decision) => ({
      decision,
      effect: effectOf(decision, parts, checkpoint !== null),
    })),
  };
}

const hour: DurationMs = 3_600_000;

const countSince = (times: readonly MonoMs[], since: MonoMs): number => times.filter((at) => at > since).length;

/** Counted as core counts: of the same task ever, without a task in the last hour; and of any in the last hour. */
function recoveriesLeft(
  { recovery: { attempts: recoveries }, task: { id: taskId } }: AgentRecord,
  policy: Policy,
  now: MonoMs,
): number {
  const ofTask = recoveries.filter((one) => one.taskId === taskId && (taskId !== null || one.at > now - hour)).length;
  const ofHour = countSince(
    recoveries.map(({ at }) => at),
    now - hour,
  );
  return Math.max(0, Math.min(policy.recovery.maxPerTask - ofTask, policy.recovery.maxPerHour - ofHour));
}

function effectOf(
  decision: EscalationDecision,
  { report, record, policy }: OptionParts,
  hasCheckpoint: boolean,
): DecisionEffect {
  const { terminal } = record.seen;
  const isOver = terminal !== null && terminal.exit !== null;
  switch (decision) {
    case "allow_more_time":
      return isMereQuestion(report, record) ? "left-alone" : "waits-longer";
    case "force_handoff":
      if (isOver) return "stays-ended";
      if (terminal === null || isWell(record)) return "told-only";
      return mayStop(terminal, policy) ? "told-and-stopped" : "handed-to-a-person";
    case "terminate_and_recover":
      if (terminal === null || policy.mode !== "act") return "handed-to-a-person";
      if (!isOver && isWell(record)) return "left-alone";
      if (terminal.foreground || (!isOver && !mayStop(terminal, policy))) return "handed-to-a-person";
      return hasCheckpoint ? "resumes-after-checkpoint" : "starts-over";
  }
}

/** Asked for its own sake, about one that is not ill: once it is answered, there is nothing to wait for. */
const isMereQuestion = ({ reason }: EscalationReport, { health }: AgentRecord): boolean =>
  (health.state === "HEALTHY" || health.state === "DEGRADED") &&
  (reason === "ordered" || reason === "handoff-requested" || reason === "blocker-reported");

/** A warning is enough where somebody decided; without any, the gate lets nobody be stopped. */
const isWell = ({ health }: AgentRecord): boolean => health.state === "HEALTHY";

/** What of the kill gate does not pass by itself. */
const mayStop = ({ attached, foreground, holder }: TerminalFacts, policy: Policy): boolean =>
  policy.mode === "act" && !policy.protected && !foreground && attached === 0 && holder === "here";
