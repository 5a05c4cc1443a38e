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
import { hintsFor, howToAnswer } from "./remediation-hints.ts";

/** How many of an agent's last events a notice holds. */
export const eventsInNotice = 20;

interface NoticeParts {
  readonly report: EscalationReport;
  readonly record: AgentRecord;
  readonly policy: Policy;
  /** What the policy was made from. */
  readonly settings: Settings;
  /** The newest checkpoint of its task, when it can be read. */
  readonly checkpoint: Pick<Checkpoint, "id" | "step" | "stepName" | "time"> | null;
  readonly now: MonoMs;
  /** In any order. */
  readonly lastEvents: readonly SavedEvent[];
  readonly toWall: (at: MonoMs) => EpochMs;
}

/** A question with all that helps to answer it. What an agent wrote stays in fields of its own. */
export function writeNotice(parts: NoticeParts): EscalationNotice {
  const { report, record, policy, settings, lastEvents, now, toWall } = parts;
  const { findings } = describeAgent(record, now, toWall, policy);
  const gravestFirst = findings
    .filter(({ level }) => level !== "note")
    .toSorted((a, b) => gravity(b.level) - gravity(a.level))
    .map(({ kind }) => kind);
  const context: EscalationContext = {
    traceIds: traceIdsOf(report, record),
    findings,
    lastEvents: lastEvents.toSorted((a, b) => a.id - b.id).slice(-eventsInNotice),
    config: snapshotOf(policy, settings),
    recovery: describeOptions(parts),
    hints: hintsFor(report, gravestFirst, record.seen.terminal !== null),
    answer: howToAnswer(report),
  };
  return { ...report, context };
}

const gravity = (level: FindingLevel): number => findingLevels.indexOf(level);

/** Each id with its kind, because the numbers of incidents and of incarnations look alike. */
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

/** Names each part: the address of a webhook is often a secret, and a setting that is added later may be one too. */
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

/** What a recovery would begin with, and what the ladder would do after each decision if it came now. */
function describeOptions(parts: NoticeParts): RecoveryOptions {
  const { report, record, policy, now } = parts;
  const { id = record.task.checkpoint, step = null, stepName = null, time = null } = parts.checkpoint ?? {};
  const checkpoint = id === null ? null : { id, step, stepName, time };
  const restarts = countSince(record.recovery.restarts, now - policy.restart.window);
  return {
    supervised: record.seen.terminal !== null,
    checkpoint,
    recoveriesLeft: recoveriesLeft(record, policy, now),
    restartsLeft: Math.max(0, restartsAllowed(record, policy) - restarts),
    options: report.decisions.map((decision) => ({ decision, effect: effectOf(decision, parts, checkpoint !== null) })),
  };
}

const hour: DurationMs = 3_600_000;

const countSince = (times: readonly MonoMs[], since: MonoMs): number => times.filter((at) => at > since).length;

/** Counts as core does: those for the same task (without a task, of the last hour), and all of the last hour. */
function recoveriesLeft({ recovery: { attempts }, task }: AgentRecord, policy: Policy, now: MonoMs): number {
  const recent = attempts.filter(({ at }) => at > now - hour);
  const ofTask = (task.id === null ? recent : attempts).filter(({ taskId }) => taskId === task.id);
  const { maxPerTask, maxPerHour } = policy.recovery;
  return Math.max(0, Math.min(maxPerTask - ofTask.length, maxPerHour - recent.length));
}

function effectOf(
  decision: EscalationDecision,
  { report, record, policy }: NoticeParts,
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

/** A question about an agent that is not ill: once it is answered, there is nothing to wait for. */
const isMereQuestion = ({ reason }: EscalationReport, { health }: AgentRecord): boolean =>
  (health.state === "HEALTHY" || health.state === "DEGRADED") &&
  (reason === "ordered" || reason === "handoff-requested" || reason === "blocker-reported");

/** An agent without so much as a warning is not stopped, even by a decision. */
const isWell = ({ health }: AgentRecord): boolean => health.state === "HEALTHY";

/** The conditions of the kill gate that do not change by waiting. */
const mayStop = ({ attached, foreground, holder }: TerminalFacts, policy: Policy): boolean =>
  policy.mode === "act" && !policy.protected && !foreground && attached === 0 && holder === "here";
