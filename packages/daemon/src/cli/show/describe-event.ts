import { eventTypes, type RouseEvent } from "@rouse/contract";
import type { StreamedEvent } from "@rouse/sdk";
import { type Line, type Style, styled, styledState } from "./styled-text.ts";
import { describeSeconds, stamp } from "./tell-time.ts";

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
  const styles: Partial<Record<string, Style>> = { ALERT_RAISED: "red", HOLD_STARTED: "yellow", MONITOR_GAP: "yellow" };
  return styled(styles[event.type] ?? "cyan", event.type);
}

export function describeEvent(event: RouseEvent): string {
  // A newer daemon may know events that we do not.
  if (!eventTypes.includes(event.type)) return JSON.stringify(event.payload);
  switch (event.type) {
    case "AGENT_HEARTBEAT":
      return [event.payload.status, event.payload.progressIndicator].filter(Boolean).join(": ");
    case "AGENT_REGISTERED":
      return `incarnation ${event.payload.incarnation}${event.payload.taskId === null ? "" : `, task ${event.payload.taskId}`}`;
    case "AGENT_INCARNATION_STARTED":
      return `incarnation ${event.payload.from} → ${event.payload.to}: ${inWords(event.payload.because)}`;
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
    case "ALERT_RAISED":
      return `${event.payload.severity}: ${event.payload.summary}`;
    case "ALERT_RESOLVED":
      return event.payload.alert;
    default:
      return describeMonitorEvent(event);
  }
}

type MonitorEvent = Extract<RouseEvent, { type: `MONITOR_${string}` | `HOLD_${string}` | `CONFIG_${string}` }>;

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
    case "HOLD_STARTED": {
      const { because, scope, silent, of } = event.payload;
      return `${inWords(because)} (${scope}): ${silent} of ${of} silent`;
    }
    case "HOLD_ENDED": {
      const { because, scope, lastedSeconds } = event.payload;
      return `${inWords(because)} (${scope}) after ${describeSeconds(lastedSeconds)}`;
    }
    case "CONFIG_RELOADED":
      return `policy ${event.payload.policy}`;
    case "CONFIG_REFUSED":
      return event.payload.problems.join("; ");
    case "MONITOR_FROZEN":
    case "MONITOR_THAWED":
      return `by ${event.payload.actor}: ${event.payload.reason}`;
  }
}

const inWords = (code: string): string => code.replaceAll("-", " ");

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
