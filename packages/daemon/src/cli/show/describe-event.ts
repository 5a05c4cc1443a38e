import { eventTypes, type RouseEvent } from "@rouse/contract";
import type { StreamedEvent } from "@rouse/sdk";
import { inWords, listProcesses, wordDetails, wordNothingFound, wordSharedTurn } from "../text/phrases.ts";
import { type Line, type Style, styled, styledState } from "../text/styled-text.ts";
import { describeSeconds, stamp } from "../text/tell-time.ts";
import { describeLadderEvent, isOfLadder } from "./describe-ladder-event.ts";

/** One event, one line: when, its id, what, who, and what it says. */
export function showEvent(event: StreamedEvent): Line {
  const { agentId } = event.payload as { agentId?: string | null };
  const text = describeEvent(event);
  return [
    styled("dim", `${stamp(event.time)}  ${event.id === undefined ? "" : `#${event.id}  `}`),
    styledType(event),
    ...(agentId ? ["  ", styled("bold", agentId)] : []),
    ...(text === "" ? [] : ["  ", text]),
  ];
}

function styledType(event: RouseEvent): Line[number] {
  if (event.type === "HEALTH_STATE_CHANGED") return { ...styledState(event.payload.to), text: event.type };
  const styles: Partial<Record<string, Style>> = {
    ALERT_RAISED: "red",
    VERDICTS_HELD_BACK: "yellow",
    FLEET_INCIDENT_OPENED: "yellow",
    AUDIT_ANCHOR_FAILED: "yellow",
    MONITOR_GAP: "yellow",
    AGENT_NEEDS_YOU: "yellow",
    LIMIT_REACHED: "yellow",
    LIMIT_RESUMED: "green",
    HOLDER_LOST: "yellow",
    TERMINATION_INCOMPLETE: "red",
    RESTARTS_EXHAUSTED: "red",
    INCIDENT_OPENED: "yellow",
    NUDGE_SENT: "yellow",
    ESCALATION_TRIGGERED: "yellow",
    ESCALATION_RAISED: "red",
    ESCALATION_UNACKNOWLEDGED: "red",
    AGENT_TERMINATED: "red",
    WORK_NOT_SAVED: "red",
    RECOVERY_COMPLETED: "green",
    RECOVERY_FAILED: "red",
    BRAKE_STARTED: "red",
    TASK_STALLED: "yellow",
    TASK_ESCALATED: "red",
    TASK_BLOCKED: "red",
    TASK_TIMED_OUT: "red",
  };
  if (event.type === "INCIDENT_CLOSED")
    return styled(event.payload.ending === "recovered" ? "green" : "red", event.type);
  return styled(styles[event.type] ?? "cyan", event.type);
}

export function describeEvent(event: RouseEvent): string {
  // A newer daemon may know events that we do not.
  if (!eventTypes.includes(event.type)) return JSON.stringify(event.payload);
  switch (event.type) {
    case "AGENT_ACTIVITY_CHANGED":
      return `${event.payload.from} → ${event.payload.to}`;
    case "AGENT_HEARTBEAT":
      return [event.payload.status, event.payload.progressIndicator].filter(Boolean).join(": ");
    case "AGENT_REGISTERED":
      return `incarnation ${event.payload.incarnation}${event.payload.taskId === null ? "" : `, task ${event.payload.taskId}`}`;
    case "AGENT_INCARNATION_STARTED":
      return `incarnation ${event.payload.from} → ${event.payload.to}: ${inWords(event.payload.because)}`;
    case "AGENT_REMOVED":
      return `taken out of the list by ${event.payload.actor}`;
    case "AGENT_FINISHED":
      return `incarnation ${event.payload.incarnation}`;
    case "AGENT_RECOVERED":
      return `well again after ${describeSeconds(event.payload.illForSeconds)} of ${event.payload.from}`;
    case "HEALTH_STATE_CHANGED": {
      const { from, to, reason, findings } = event.payload;
      return `${from} → ${to}: ${findings.map(({ text }) => text).join("; ") || inWords(reason)}`;
    }
    case "HEARTBEAT_MISSED":
      return `${count(event.payload.missed, "beat")} missed, silent for ${describeSeconds(event.payload.silentSeconds)}`;
    case "HEARTBEATS_LOST": {
      const { count: lost, afterSequence, beforeSequence } = event.payload;
      return `${count(lost, "beat")} lost between number ${afterSequence} and ${beforeSequence}`;
    }
    case "HEARTBEAT_REFUSED": {
      const { because, sequenceNumber } = event.payload;
      return `${inWords(because)}${sequenceNumber === null ? "" : ` (number ${sequenceNumber})`}`;
    }
    case "AGENT_SPEECH_REFUSED":
      return `${inWords(event.payload.because)}: ${event.payload.claimed}`;
    case "ALERT_RAISED":
      return `${event.payload.severity}: ${event.payload.summary}`;
    case "ALERT_RESOLVED":
      return event.payload.alert;
    default:
      if (isOfMonitor(event)) return describeMonitorEvent(event);
      if (isOfLadder(event)) return describeLadderEvent(event);
      return isOfTask(event) ? describeTaskEvent(event) : describeHeldEvent(event);
  }
}

type MonitorEvent = Extract<
  RouseEvent,
  {
    type:
      | `MONITOR_${string}`
      | `VERDICTS_${string}`
      | `FLEET_${string}`
      | `CONFIG_${string}`
      | `BRAKE_${string}`
      | `AUDIT_${string}`;
  }
>;

const isOfMonitor = (event: RouseEvent): event is MonitorEvent =>
  /^(MONITOR|VERDICTS|FLEET|CONFIG|BRAKE|AUDIT)_/.test(event.type);

/** What happens to an agent that Rouse started. */
type HeldEvent = Extract<
  RouseEvent,
  {
    type:
      | "AGENT_HELD"
      | "HOLDER_LOST"
      | "AGENT_ATTACHED"
      | "AGENT_DETACHED"
      | "PROCESS_EXITED"
      | "AGENT_LEFT_PROCESSES"
      | `AGENT_NEEDS_YOU${string}`
      | `LIMIT_${string}`
      | `TERMINATION_${string}`
      | "AGENT_TERMINATED"
      | `RESTART${string}`
      | "AGENT_RESTARTED";
  }
>;

function describeHeldEvent(event: HeldEvent): string {
  switch (event.type) {
    case "AGENT_HELD":
      return `incarnation ${event.payload.incarnation}, process ${event.payload.pid}${event.payload.adopted ? ", found again" : ""}`;
    case "HOLDER_LOST":
      return `${inWords(event.payload.because ?? "gone")}; ${event.payload.process === "alive" ? "its process lives on" : "its process is gone"}`;
    case "AGENT_ATTACHED":
    case "AGENT_DETACHED":
      return `${event.payload.attached} at its terminal`;
    case "PROCESS_EXITED": {
      const { code, signal, cause } = event.payload;
      return `${signal !== null ? `by ${signal}` : code !== null ? `with status ${code}` : "nobody saw how"} (${inWords(cause)})`;
    }
    case "AGENT_LEFT_PROCESSES":
      return listProcesses(event.payload.processes);
    case "AGENT_NEEDS_YOU":
      return `${neededFor[event.payload.what]} (${event.payload.pattern})`;
    case "AGENT_NEEDS_YOU_NO_MORE":
      return `after ${describeSeconds(event.payload.waitedSeconds)}`;
    case "LIMIT_REACHED": {
      const { what, resetsInSeconds, pattern } = event.payload;
      return `${limits[what]}, ${resetsInSeconds === null ? "no reset named" : `resets in ${describeSeconds(resetsInSeconds)}`} (${pattern})`;
    }
    case "LIMIT_RESUMED":
      return `${inWords(event.payload.how)} after ${describeSeconds(event.payload.waitedSeconds)}`;
    case "TERMINATION_ORDERED":
      return `by ${event.payload.actor}: ${inWords(event.payload.because)}`;
    case "TERMINATION_REFUSED":
      return `${inWords(event.payload.because)} (wanted for ${inWords(event.payload.cause)})`;
    case "TERMINATION_INCOMPLETE":
      return `still there: ${event.payload.survivors.map(({ pid, name }) => `${pid} ${name}`).join(", ")}`;
    case "AGENT_TERMINATED":
      return [
        inWords(event.payload.because),
        ...(event.payload.forced ? ["by force"] : []),
        ...(event.payload.snapshot === null ? [] : [`work in ${event.payload.snapshot.slice(0, 12)}`]),
        ...(event.payload.mayHaveLeft || event.payload.tier === "marked" ? [wordNothingFound(event.payload.tier)] : []),
        ...(event.payload.sharedTurn === undefined ? [] : [wordSharedTurn(event.payload.sharedTurn)]),
        ...wordDetails(event.payload),
      ].join(", ");
    case "RESTART_ORDERED": {
      const { because, attempt } = event.payload;
      return `${inWords(because)}${attempt === 0 ? "" : `, attempt ${attempt}`}`;
    }
    case "RESTART_FAILED":
      return event.payload.problem;
    case "RESTART_PUT_OFF":
      return "its program says that its limit still stands";
    case "RESTART_CANCELLED":
      return `by ${event.payload.actor}: it stays down`;
    case "RESTARTS_EXHAUSTED":
      return `${event.payload.attempts} restarts in ${describeSeconds(event.payload.windowSeconds)}: a person has to look`;
    case "AGENT_RESTARTED": {
      const { from, to, because, chain } = event.payload;
      return `incarnation ${from} → ${to}: ${chain.length === 0 ? inWords(because) : chain.map(inWords).join(" → ")}`;
    }
  }
}

const limits = { usage: "usage limit", rate: "rate limit", overloaded: "provider overloaded" } as const;

export const neededFor = {
  permission: "to allow something",
  question: "to answer",
  plan: "to approve its plan",
  trust: "to say whether its folder is trusted",
  login: "to log in",
  "api-key": "to say whether its API key may be used",
  credits: "to pay for more",
  limit: "to let it go on: its limit is over",
  "api-error": "to look at the error that ended its turn",
  prompt: "to say what is next",
  draft: "to send or clear what is half typed in its input",
  input: "to type what it waits for",
} as const;

function describeMonitorEvent(event: MonitorEvent): string {
  switch (event.type) {
    case "MONITOR_STARTED": {
      const { version, agents, resumed } = event.payload;
      return `${version}, ${resumed ? "went on with" : "started with"} ${count(agents, "agent")}`;
    }
    case "MONITOR_STOPPED":
      return "";
    case "MONITOR_GAP":
      return `${inWords(event.payload.cause)} of ${event.payload.lastedSeconds} s: ${event.payload.detail}`;
    case "VERDICTS_HELD_BACK": {
      const { because, scope, silent, of } = event.payload;
      return `${inWords(because)} (${scope}): ${silent} of ${of} silent`;
    }
    case "VERDICTS_RESUMED": {
      const { because, scope, lastedSeconds } = event.payload;
      return `${inWords(because)} (${scope}) after ${describeSeconds(lastedSeconds)}`;
    }
    case "FLEET_INCIDENT_OPENED": {
      const { incident, because, scope, members, of, agents } = event.payload;
      return `${incident} (${scope}): ${members ?? agents.length} of ${of} ${because === "mass-failure" ? "ended" : "silent"}`;
    }
    case "FLEET_INCIDENT_CLOSED": {
      const { incident, because, lastedSeconds } = event.payload;
      return `${incident} after ${describeSeconds(lastedSeconds)}: ${inWords(because)}`;
    }
    case "BRAKE_STARTED":
      return `${event.payload.kills} agents stopped in ${describeSeconds(event.payload.windowSeconds)}: no more for now`;
    case "BRAKE_ENDED":
      return `after ${describeSeconds(event.payload.lastedSeconds)}`;
    case "AUDIT_ANCHOR_FAILED":
      return `${event.payload.anchor}: ${event.payload.problem}`;
    case "AUDIT_ANCHOR_RESTORED":
      return `${event.payload.anchor}: sealed up to line ${event.payload.number}`;
    case "CONFIG_RELOADED":
      return `policy ${event.payload.policy}`;
    case "CONFIG_REFUSED":
      return event.payload.problems.join("; ");
    case "MONITOR_FROZEN":
    case "MONITOR_THAWED":
      return `by ${event.payload.actor}: ${event.payload.reason}`;
  }
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

type TaskEvent = Extract<RouseEvent, { type: `TASK_${string}` | `CHECKPOINT_${string}` | `ASSIGNMENTS_${string}` }>;

export const isOfTask = (event: RouseEvent): event is TaskEvent => /^(TASK|CHECKPOINT|ASSIGNMENTS)_/.test(event.type);

export function describeTaskEvent(event: TaskEvent): string {
  switch (event.type) {
    case "CHECKPOINT_SAVED": {
      const { taskId, step, stepName, checkpoint } = event.payload;
      return `task ${taskId}: step ${step}${stepName === "" ? "" : ` ${stepName}`} (${checkpoint.slice(0, 12)})`;
    }
    case "CHECKPOINT_REFUSED":
      return `task ${event.payload.taskId}: ${event.payload.problem}`;
    case "TASK_CREATED":
      return `task ${event.payload.taskId}, priority ${event.payload.priority}`;
    case "TASK_CHANGED": {
      const { taskId, from, to, because, actor } = event.payload;
      return `task ${taskId}: ${from} → ${to}, ${inWords(because)}, by ${actor}`;
    }
    case "TASK_CLAIMED":
      return `task ${event.payload.taskId}, claim ${event.payload.claim}`;
    case "TASK_RELEASED":
      return `task ${event.payload.taskId}, claim ${event.payload.claim}: ${inWords(event.payload.because)}`;
    case "TASK_STALLED":
    case "TASK_ESCALATED":
      return `task ${event.payload.taskId}: no update for ${describeSeconds(event.payload.withoutUpdateSeconds)}`;
    case "TASK_LONG_RUNNING":
    case "TASK_TIMED_OUT":
      return `task ${event.payload.taskId}: running for ${describeSeconds(event.payload.runningSeconds)}`;
    case "TASK_BLOCKED":
      return `task ${event.payload.taskId}: ${inWords(event.payload.because)}`;
    case "ASSIGNMENTS_REDUCED":
    case "ASSIGNMENTS_STOPPED":
      return `${event.payload.failed} of its last ${event.payload.of} tasks failed`;
    case "ASSIGNMENTS_RESTORED":
      return `by ${event.payload.actor}`;
  }
}
