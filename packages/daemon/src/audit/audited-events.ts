import { detailsOf, type EpochMs, type EventType, type RouseEvent, type TaskReason } from "@rouse/contract";
import type { NewAuditLine } from "./audit-trail.ts";

type Payload<T extends EventType> = Extract<RouseEvent, { type: T }>["payload"];

/** `action` is the event's name in small letters unless it is given. */
type Entry = Pick<NewAuditLine, "subject" | "reason" | "evidence" | "actor"> & Partial<Pick<NewAuditLine, "action">>;

/** `null` for an event that is no intervention, no refusal and nothing a person did. */
type Rules = { readonly [T in EventType]: ((payload: Payload<T>) => Entry | null) | null };

/** Which events go into the audit trail. A new event does not compile until it is decided here. */
const rules: Rules = {
  AGENT_HEARTBEAT: null,
  AGENT_ACTIVITY_CHANGED: null,
  AGENT_REGISTERED: null,
  AGENT_INCARNATION_STARTED: null,
  AGENT_REMOVED: (p) => about(p.agentId, p.reason, pick(p, "incarnation"), p.actor),
  AGENT_FINISHED: null,
  AGENT_RECOVERED: null,
  HEALTH_STATE_CHANGED: null,
  HEARTBEAT_MISSED: null,
  HEARTBEATS_LOST: null,
  HEARTBEAT_REFUSED: null,
  AGENT_SPEECH_REFUSED: (p) => about(p.agentId, p.because, pick(p, "claimed")),
  AGENT_HELD: null,
  HOLDER_LOST: null,
  AGENT_ATTACHED: (p) => about(p.agentId, "attached", pick(p, "incarnation", "attached"), "owner"),
  AGENT_DETACHED: (p) => about(p.agentId, "detached", pick(p, "incarnation", "attached"), "owner"),
  PROCESS_EXITED: null,
  AGENT_LEFT_PROCESSES: null,
  AGENT_NEEDS_YOU: null,
  AGENT_NEEDS_YOU_NO_MORE: null,
  LIMIT_REACHED: null,
  LIMIT_RESUMED: null,
  TERMINATION_ORDERED: (p) => about(p.agentId, p.because, pick(p, "incarnation", "key", "evidence"), p.actor),
  TERMINATION_REFUSED: (p) => about(p.agentId, p.because, pick(p, "cause")),
  TERMINATION_INCOMPLETE: (p) =>
    about(p.agentId, "survivors", {
      incarnation: p.incarnation,
      survivors: p.survivors.length,
      pids: p.survivors.map(({ pid }) => pid),
    }),
  AGENT_TERMINATED: (p) => ({
    ...about(p.agentId, p.reason, {
      ...pick(p, "incarnation", "because", "forced", "checkpoint", "snapshot", "evidence"),
      ...(p.tier === undefined ? {} : pick(p, "tier")),
      ...detailsOf(p),
    }),
    action: "terminate",
    actor: p.actor,
  }),
  WORK_SAVED: (p) => about(p.agentId, "work-saved", pick(p, "incarnation", "commit", "changed")),
  WORK_NOT_SAVED: (p) => about(p.agentId, p.problem, pick(p, "incarnation")),
  RESTART_ORDERED: (p) => about(p.agentId, p.because, pick(p, "incarnation", "key", "attempt")),
  RESTART_FAILED: (p) => about(p.agentId, p.problem, pick(p, "incarnation")),
  RESTART_PUT_OFF: (p) => about(p.agentId, "limit-stands", pick(p, "incarnation", "key", "resetsInSeconds")),
  RESTART_CANCELLED: (p) => about(p.agentId, "cancelled", pick(p, "incarnation"), p.actor),
  RESTARTS_EXHAUSTED: (p) => about(p.agentId, "restarts-exhausted", pick(p, "attempts", "windowSeconds")),
  AGENT_RESTARTED: (p) => about(p.agentId, p.because, pick(p, "from", "to", "cause", "chain")),
  INCIDENT_OPENED: (p) => about(p.agentId, p.cause, pick(p, "incident", "illness", "severity")),
  INCIDENT_CLOSED: (p) => about(p.agentId, p.because, pick(p, "incident", "ending", "lastedSeconds")),
  AGENT_CONTAINED: (p) => about(p.agentId, p.how, pick(p, "incident", "calls")),
  AGENT_NOT_CONTAINED: (p) => about(p.agentId, p.because, pick(p, "incident", "how")),
  AGENT_LET_GO: (p) => about(p.agentId, p.because, pick(p, "incident")),
  NUDGE_QUEUED: (p) => about(p.agentId, p.template, pick(p, "nudge", "attempt", "channel"), p.actor),
  NUDGE_SENT: (p) => about(p.agentId, "sent", pick(p, "nudge", "attempt", "channel")),
  NUDGE_NOT_SENT: (p) => about(p.agentId, p.because, pick(p, "nudge", "channel")),
  NUDGE_SEEN: null,
  NUDGE_ACTED: null,
  NUDGE_UNCONFIRMED: (p) => about(p.agentId, "unconfirmed", pick(p, "nudge", "waitedSeconds")),
  AGENT_ANSWERED: null,
  ESCALATION_TRIGGERED: (p) =>
    about(p.agentId, p.reason, pick(p, "escalation", "incident", "severity", "answerWithinSeconds")),
  ESCALATION_RAISED: (p) =>
    about(p.agentId, "critical-tasks-blocked", pick(p, "escalation", "severity", "criticalBlocked")),
  ESCALATION_DECIDED: (p) => about(p.agentId, p.reason, pick(p, "escalation", "decision"), p.actor),
  ESCALATION_ACKNOWLEDGED: (p) => about(p.agentId, "acknowledged", pick(p, "escalation"), p.actor),
  ESCALATION_UNACKNOWLEDGED: (p) => about(p.agentId, "nobody-answered", pick(p, "escalation", "waitedSeconds")),
  ESCALATION_UNANSWERED: (p) => about(p.agentId, "nobody-answered", pick(p, "escalation", "waitedSeconds")),
  ESCALATION_ANSWER_REFUSED: (p) => about(p.agentId, p.because, pick(p, "escalation")),
  ESCALATION_UNDELIVERED: (p) => about(p.agentId, p.problem, pick(p, "escalation")),
  RECOVERY_INITIATED: (p) => about(p.agentId, p.because, pick(p, "taskId", "fromCheckpoint", "attempt")),
  RECOVERY_COMPLETED: (p) =>
    about(
      p.agentId,
      "recovered",
      pick(p, "taskId", "newAgentId", "incarnation", "fromCheckpoint", "step", "lost", "tookSeconds"),
    ),
  RECOVERY_FAILED: (p) => about(p.agentId, p.reason, pick(p, "taskId", "attempts")),
  CHECKPOINT_SAVED: null,
  CHECKPOINT_REFUSED: null,
  TASK_CREATED: null,
  TASK_CHANGED: (p) =>
    isPersonsDoing[p.because] ? about(p.taskId, p.because, pick(p, "agentId", "from", "to"), p.actor) : null,
  TASK_CLAIMED: null,
  TASK_RELEASED: null,
  TASK_STALLED: null,
  TASK_ESCALATED: null,
  TASK_LONG_RUNNING: null,
  TASK_TIMED_OUT: (p) => about(p.taskId, "timed-out", pick(p, "agentId", "runningSeconds")),
  TASK_BLOCKED: (p) => about(p.taskId, p.because, pick(p, "agentId")),
  ASSIGNMENTS_REDUCED: (p) => about(p.agentId, "high-error-rate", pick(p, "failed", "of")),
  ASSIGNMENTS_STOPPED: (p) => about(p.agentId, "high-error-rate", pick(p, "failed", "of")),
  ASSIGNMENTS_RESTORED: (p) => about(p.agentId, "restored", {}, p.actor),
  CIRCUIT_BREAKER_STATE_CHANGED: null,
  BRAKE_STARTED: (p) => about(null, "fleet-budget", pick(p, "kills", "windowSeconds")),
  BRAKE_ENDED: (p) => about(null, "fleet-budget", pick(p, "lastedSeconds")),
  ALERT_RAISED: null,
  ALERT_RESOLVED: null,
  MONITOR_STARTED: null,
  MONITOR_STOPPED: null,
  MONITOR_GAP: null,
  FLEET_INCIDENT_OPENED: (p) =>
    about(null, p.because ?? "mass-silence", pick(p, "incident", "scope", "members", "of", "agents")),
  FLEET_INCIDENT_CLOSED: (p) => about(null, p.because, pick(p, "incident", "scope", "came", "lastedSeconds")),
  VERDICTS_HELD_BACK: (p) => about(null, p.because, pick(p, "scope", "silent", "of")),
  VERDICTS_RESUMED: (p) => about(null, p.because, pick(p, "scope", "lastedSeconds")),
  AUDIT_ANCHOR_FAILED: (p) => about(null, "not-reached", pick(p, "anchor")),
  AUDIT_ANCHOR_RESTORED: (p) => about(null, "reached", pick(p, "anchor", "number")),
  CONFIG_RELOADED: (p) => about(null, "reloaded", pick(p, "policy")),
  CONFIG_REFUSED: (p) => about(null, "refused", { problems: p.problems.length }),
  MONITOR_FROZEN: (p) => ({ ...about(null, p.reason, said(p), p.actor), action: "freeze" }),
  MONITOR_THAWED: (p) => ({ ...about(null, p.reason, said(p), p.actor), action: "thaw" }),
};

const isPersonsDoing: Readonly<Record<TaskReason, boolean>> = {
  created: false,
  claimed: false,
  started: false,
  updated: false,
  done: false,
  "agent-failed-it": false,
  "cancelled-by-person": true,
  "reassigned-by-person": true,
  "released-by-agent": false,
  "agent-stopped": false,
  "agent-finished": false,
  "agent-gone": false,
  "handed-off": false,
  "timed-out": false,
  "recoveries-exhausted": false,
  "repeated-error": false,
  "agent-blocked": false,
  "being-recovered": false,
  "recovered-by-person": false,
  recovered: false,
  "marked-by-person": true,
  "unblocked-by-person": true,
};

/** The line of an event in the audit trail; `null` when it has none. `policy`: the id of the policy in force. */
export function auditLineOf(event: RouseEvent, time: EpochMs, policy: string | null): NewAuditLine | null {
  const rule = rules[event.type] as ((payload: RouseEvent["payload"]) => Entry | null) | null;
  const entry = rule === null ? null : rule(event.payload);
  if (entry === null) return null;
  return { time, action: event.type.toLowerCase().replaceAll("_", "-"), policy, ...entry };
}

const about = (subject: string | null, reason: string, evidence: Entry["evidence"], actor = "rouse"): Entry => ({
  subject,
  reason,
  evidence,
  actor,
});

/** The name that the caller gives itself. */
const said = ({ as }: { as?: string | undefined }): Entry["evidence"] => (as === undefined ? {} : { as });

/** Numbers, ids and words of closed sets; never what an agent wrote. */
function pick<P extends object>(payload: P, ...keys: readonly (keyof P & string)[]): Entry["evidence"] {
  return Object.fromEntries(keys.map((key) => [key, payload[key]]));
}
