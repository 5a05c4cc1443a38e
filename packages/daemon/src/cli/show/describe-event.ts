import {
  type ContainmentMeans,
  type EventType,
  eventTypes,
  type LostWork,
  type RecoveryHold,
  type RouseEvent,
} from "@rouse/contract";
import type { StreamedEvent } from "@rouse/sdk";
import { count, inWords, listProcesses, wordDetails, wordNothingFound, wordSharedTurn } from "../text/phrases.ts";
import { type Line, type Style, styled, styledState } from "../text/styled-text.ts";
import { describeSeconds, stamp } from "../text/tell-time.ts";

/** One event in one line: when, its id, what, who, and what it says. */
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

const styles: Readonly<Partial<Record<EventType, Style>>> = {
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
  CIRCUIT_BREAKER_STATE_CHANGED: "yellow",
  BRAKE_STARTED: "red",
  TASK_STALLED: "yellow",
  TASK_ESCALATED: "red",
  TASK_BLOCKED: "red",
  TASK_TIMED_OUT: "red",
};

function styledType(event: RouseEvent): Line[number] {
  if (event.type === "HEALTH_STATE_CHANGED") return { ...styledState(event.payload.to), text: event.type };
  if (event.type === "INCIDENT_CLOSED")
    return styled(event.payload.ending === "recovered" ? "green" : "red", event.type);
  return styled(styles[event.type] ?? "cyan", event.type);
}

type PayloadOf<T extends EventType> = Extract<RouseEvent, { type: T }>["payload"];

export function describeEvent({ type, payload }: RouseEvent): string {
  // A newer daemon may send events that this version does not know.
  if (!eventTypes.includes(type)) return JSON.stringify(payload);
  return (descriptions[type] as (of: RouseEvent["payload"]) => string)(payload);
}

/** What each event says, beside its name and its agent. */
const descriptions: { readonly [T in EventType]: (payload: PayloadOf<T>) => string } = {
  AGENT_ACTIVITY_CHANGED: ({ from, to }) => `${from} → ${to}`,
  AGENT_HEARTBEAT: ({ status, progressIndicator }) => [status, progressIndicator].filter(Boolean).join(": "),
  AGENT_REGISTERED: ({ incarnation, taskId }) =>
    `incarnation ${incarnation}${taskId === null ? "" : `, task ${taskId}`}`,
  AGENT_INCARNATION_STARTED: ({ from, to, because }) => `incarnation ${from} → ${to}: ${inWords(because)}`,
  AGENT_REMOVED: ({ actor }) => `taken out of the list by ${actor}`,
  AGENT_FINISHED: ({ incarnation }) => `incarnation ${incarnation}`,
  AGENT_RECOVERED: ({ illForSeconds, from }) => `well again after ${describeSeconds(illForSeconds)} of ${from}`,
  HEALTH_STATE_CHANGED: ({ from, to, reason, findings }) =>
    `${from} → ${to}: ${findings.map(({ text }) => text).join("; ") || inWords(reason)}`,
  HEARTBEAT_MISSED: ({ missed, silentSeconds }) =>
    `${count(missed, "beat")} missed, silent for ${describeSeconds(silentSeconds)}`,
  HEARTBEATS_LOST: ({ count: lost, afterSequence, beforeSequence }) =>
    `${count(lost, "beat")} lost between number ${afterSequence} and ${beforeSequence}`,
  HEARTBEAT_REFUSED: ({ because, sequenceNumber }) =>
    `${inWords(because)}${sequenceNumber === null ? "" : ` (number ${sequenceNumber})`}`,
  AGENT_SPEECH_REFUSED: ({ because, claimed }) => `${inWords(because)}: ${claimed}`,
  ALERT_RAISED: ({ severity, summary }) => `${severity}: ${summary}`,
  ALERT_RESOLVED: ({ alert }) => alert,

  AGENT_HELD: ({ incarnation, pid, adopted }) =>
    `incarnation ${incarnation}, process ${pid}${adopted ? ", found again" : ""}`,
  HOLDER_LOST: ({ because, process }) =>
    `${inWords(because ?? "gone")}; ${process === "alive" ? "its process lives on" : "its process is gone"}`,
  AGENT_ATTACHED: ({ attached }) => `${attached} at its terminal`,
  AGENT_DETACHED: ({ attached }) => `${attached} at its terminal`,
  PROCESS_EXITED: ({ code, signal, cause }) =>
    `${signal !== null ? `by ${signal}` : code !== null ? `with status ${code}` : "nobody saw how"} (${inWords(cause)})`,
  AGENT_LEFT_PROCESSES: ({ processes }) => listProcesses(processes),
  AGENT_NEEDS_YOU: ({ what, pattern }) => `${neededFor[what]} (${pattern})`,
  AGENT_NEEDS_YOU_NO_MORE: ({ waitedSeconds }) => `after ${describeSeconds(waitedSeconds)}`,
  LIMIT_REACHED: ({ what, resetsInSeconds: reset, pattern }) =>
    `${limits[what]}, ${reset === null ? "no reset named" : `resets in ${describeSeconds(reset)}`} (${pattern})`,
  LIMIT_RESUMED: ({ how, waitedSeconds }) => `${inWords(how)} after ${describeSeconds(waitedSeconds)}`,
  TERMINATION_ORDERED: ({ actor, because }) => `by ${actor}: ${inWords(because)}`,
  TERMINATION_REFUSED: ({ because, cause }) => `${inWords(because)} (wanted for ${inWords(cause)})`,
  TERMINATION_INCOMPLETE: ({ survivors }) =>
    `still there: ${survivors.map(({ pid, name }) => `${pid} ${name}`).join(", ")}`,
  AGENT_TERMINATED: ({ because, forced, snapshot, mayHaveLeft, tier, sharedTurn, ...details }) =>
    [
      inWords(because),
      ...(forced ? ["by force"] : []),
      ...(snapshot === null ? [] : [`work in ${snapshot.slice(0, 12)}`]),
      ...(mayHaveLeft || tier === "marked" ? [wordNothingFound(tier)] : []),
      ...(sharedTurn === undefined ? [] : [wordSharedTurn(sharedTurn)]),
      ...wordDetails(details),
    ].join(", "),
  RESTART_ORDERED: ({ because, attempt }) => `${inWords(because)}${attempt === 0 ? "" : `, attempt ${attempt}`}`,
  RESTART_FAILED: ({ problem }) => problem,
  RESTART_PUT_OFF: () => "its program says that its limit still stands",
  RESTART_CANCELLED: ({ actor }) => `by ${actor}: it stays down`,
  RESTARTS_EXHAUSTED: ({ attempts, windowSeconds }) =>
    `${attempts} restarts in ${describeSeconds(windowSeconds)}: a person has to look`,
  AGENT_RESTARTED: ({ from, to, because, chain }) =>
    `incarnation ${from} → ${to}: ${chain.length === 0 ? inWords(because) : chain.map(wordLink).join(" → ")}`,

  INCIDENT_OPENED: ({ severity, illness, cause }) => `${severity} ${illness}: ${inWords(cause)}`,
  INCIDENT_CLOSED: ({ ending, because, lastedSeconds }) =>
    `${inWords(ending)} (${inWords(because)}) after ${describeSeconds(lastedSeconds)}`,
  NUDGE_QUEUED: ({ attempt, actor, channel, template }) =>
    `${beforeAttempt(attempt)}by ${actor}, ${channel}: ${inWords(template)}`,
  NUDGE_SENT: ({ attempt, channel, message }) => `${beforeAttempt(attempt)}${channel}: ${message.split("\n")[0] ?? ""}`,
  NUDGE_NOT_SENT: ({ channel, because }) => `${channel}: ${inWords(because)}`,
  NUDGE_SEEN: ({ evidence }) => evidence,
  NUDGE_ACTED: ({ evidence }) => evidence,
  NUDGE_UNCONFIRMED: ({ because, waitedSeconds }) =>
    because === "only-screen"
      ? `typed, and whether it was read nobody can tell: only its screen is seen (${describeSeconds(waitedSeconds)})`
      : `no sign of it in ${describeSeconds(waitedSeconds)}`,
  AGENT_ANSWERED: ({ answer }) => `${answer.kind}${answer.text === undefined ? "" : `: ${answer.text}`}`,
  AGENT_CONTAINED: ({ how, calls }) => `${heldBackBy[how]} after ${calls} more calls in circles`,
  AGENT_NOT_CONTAINED: ({ how, because }) => `${how}: ${inWords(because)}`,
  AGENT_LET_GO: ({ because }) => inWords(because),
  WORK_SAVED: ({ commit, changed }) =>
    commit === null ? "nothing to save" : `${count(changed, "changed file")} in ${commit.slice(0, 12)}`,
  WORK_NOT_SAVED: ({ problem }) => problem,
  RECOVERY_INITIATED: ({ attempt, because }) => `${beforeAttempt(attempt)}${because}`,
  RECOVERY_COMPLETED: ({ incarnation, fromCheckpoint, step, lost, tookSeconds }) => {
    const after = fromCheckpoint === null ? null : `after step ${step} (${fromCheckpoint.slice(0, 12)})`;
    const without = lost.checkpoints === 0 ? "" : `, without ${count(lost.checkpoints, "newer checkpoint")}`;
    const from = `${wordBeginning(lost, after)}${without}`;
    return `incarnation ${incarnation} goes on ${from}, ${tookSeconds} s after the end of the last`;
  },
  RECOVERY_FAILED: ({ reason, attempts }) => `${inWords(reason)} after ${count(attempts, "attempt")}`,
  ESCALATION_TRIGGERED: ({ escalation, severity, reason, answerWithinSeconds }) =>
    `${escalation} ${severity}: ${inWords(reason)}, answer within ${describeSeconds(answerWithinSeconds)}`,
  ESCALATION_RAISED: ({ escalation, severity, criticalBlocked }) =>
    `${escalation} ${severity}: ${criticalBlocked} critical tasks need a person`,
  ESCALATION_DECIDED: ({ escalation, decision, actor, reason }) =>
    `${escalation}: ${inWords(decision)} by ${actor}: ${reason}`,
  ESCALATION_ACKNOWLEDGED: ({ escalation, actor }) => `${escalation} by ${actor}`,
  ESCALATION_UNACKNOWLEDGED: ({ escalation, waitedSeconds }) => `${escalation} for ${describeSeconds(waitedSeconds)}`,
  ESCALATION_UNANSWERED: ({ escalation, waitedSeconds }) => `${escalation} for ${describeSeconds(waitedSeconds)}`,
  ESCALATION_ANSWER_REFUSED: ({ escalation, because }) =>
    `${escalation}: a decision came back from the webhook that counts for nothing: ${inWords(because)}`,
  ESCALATION_UNDELIVERED: ({ escalation, problem }) => `${escalation}: ${problem}`,

  MONITOR_STARTED: ({ version, agents, resumed }) =>
    `${version}, ${resumed ? "went on with" : "started with"} ${count(agents, "agent")}`,
  MONITOR_STOPPED: () => "",
  MONITOR_GAP: ({ cause, lastedSeconds, detail }) => `${inWords(cause)} of ${lastedSeconds} s: ${detail}`,
  MONITOR_FROZEN: ({ actor, reason }) => `by ${actor}: ${reason}`,
  MONITOR_THAWED: ({ actor, reason }) => `by ${actor}: ${reason}`,
  VERDICTS_HELD_BACK: ({ because, scope, silent, of }) => `${inWords(because)} (${scope}): ${silent} of ${of} silent`,
  VERDICTS_RESUMED: ({ because, scope, lastedSeconds }) =>
    `${inWords(because)} (${scope}) after ${describeSeconds(lastedSeconds)}`,
  FLEET_INCIDENT_OPENED: ({ incident, because, scope, members, of, agents }) =>
    `${incident} (${scope}): ${members ?? agents.length} of ${of} ${because === "mass-failure" ? "ended" : "silent"}`,
  FLEET_INCIDENT_CLOSED: ({ incident, because, lastedSeconds }) =>
    `${incident} after ${describeSeconds(lastedSeconds)}: ${inWords(because)}`,
  CIRCUIT_BREAKER_STATE_CHANGED: ({ name, from, to }) => `${name}: ${from} → ${to}`,
  BRAKE_STARTED: ({ kills, windowSeconds }) =>
    `${kills} agents stopped in ${describeSeconds(windowSeconds)}: no more for now`,
  BRAKE_ENDED: ({ lastedSeconds }) => `after ${describeSeconds(lastedSeconds)}`,
  AUDIT_ANCHOR_FAILED: ({ anchor, problem }) => `${anchor}: ${problem}`,
  AUDIT_ANCHOR_RESTORED: ({ anchor, number }) => `${anchor}: sealed up to line ${number}`,
  CONFIG_RELOADED: ({ policy }) => `policy ${policy}`,
  CONFIG_REFUSED: ({ problems }) => problems.join("; "),

  CHECKPOINT_SAVED: ({ taskId, step, stepName, checkpoint }) =>
    `task ${taskId}: step ${step}${stepName === "" ? "" : ` ${stepName}`} (${checkpoint.slice(0, 12)})`,
  CHECKPOINT_REFUSED: ({ taskId, problem }) => `task ${taskId}: ${problem}`,
  TASK_CREATED: ({ taskId, priority }) => `task ${taskId}, priority ${priority}`,
  TASK_CHANGED: ({ taskId, from, to, because, actor }) =>
    `task ${taskId}: ${from} → ${to}, ${inWords(because)}, by ${actor}`,
  TASK_CLAIMED: ({ taskId, claim }) => `task ${taskId}, claim ${claim}`,
  TASK_RELEASED: ({ taskId, claim, because }) => `task ${taskId}, claim ${claim}: ${inWords(because)}`,
  TASK_STALLED: (payload) => describeUnchanged(payload),
  TASK_ESCALATED: (payload) => describeUnchanged(payload),
  TASK_LONG_RUNNING: (payload) => describeRunning(payload),
  TASK_TIMED_OUT: (payload) => describeRunning(payload),
  TASK_BLOCKED: ({ taskId, because }) => `task ${taskId}: ${inWords(because)}`,
  ASSIGNMENTS_REDUCED: ({ failed, of }) => `${failed} of its last ${of} tasks failed`,
  ASSIGNMENTS_STOPPED: ({ failed, of }) => `${failed} of its last ${of} tasks failed`,
  ASSIGNMENTS_RESTORED: ({ actor }) => `by ${actor}`,
};

const describeUnchanged = ({ taskId, withoutUpdateSeconds }: PayloadOf<"TASK_STALLED">): string =>
  `task ${taskId}: no update for ${describeSeconds(withoutUpdateSeconds)}`;

const describeRunning = ({ taskId, runningSeconds }: PayloadOf<"TASK_TIMED_OUT">): string =>
  `task ${taskId}: running for ${describeSeconds(runningSeconds)}`;

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

/** What an agent that is down waits for. */
export const holdWords: Readonly<Record<RecoveryHold, string>> = {
  cooldown: "resting after its last restart",
  backoff: "resting after its last recovery",
  "breaker-open": "because the last attempts to bring it back failed (`rouse breakers reset AGENT/recovery_attempt`)",
  frozen: "frozen by a person",
};

export const heldBackBy: Readonly<Record<ContainmentMeans, string>> = {
  pause: "its tools are withheld",
  interrupt: "its turn was broken off",
};

/** One link of what led to a restart, as core writes it: "exit: by-itself", "started again: process-exited". */
const wordLink = (link: string): string =>
  inWords(link)
    .replace(/^exit: /, "its process ended: ")
    .replace(/^started again: /, "started again because of: ");

const beforeAttempt = (n: number): string => (n === 0 ? "" : `attempt ${n}, `);

/** Where a new life goes on: after a step, with the conversation it had, or from the start. */
export function wordBeginning({ conversation }: LostWork, step: string | null): string {
  switch (conversation) {
    case "kept":
      return [step, "with its conversation"].filter((each) => each !== null).join(", ");
    case "lost":
      return `${step ?? "from the start"}, without its conversation`;
    case undefined:
      return step ?? "from the start";
  }
}
