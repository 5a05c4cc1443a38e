import {
  type AgentHealth,
  type EpochMs,
  type Eye,
  type EyeState,
  exitWord,
  type FindingReport,
  isGoodEnd,
  type ProcessFacts,
  type SystemStatus,
  type TerminalReport,
} from "@rouse/contract";
import { drawFacts, type Fact, orNone } from "../text/draw-table.ts";
import { count, inWords, listProcesses } from "../text/phrases.ts";
import { type Line, styled, wrapLine } from "../text/styled-text.ts";
import { describeSeconds, lasting, stamp, stampAndAge } from "../text/tell-time.ts";
import { describeActivity, describeDoing, limitInTheWay, showHealthList } from "./agents.ts";
import { neededFor } from "./describe-event.ts";
import { describeDoubt } from "./doubt.ts";
import { describeRestartRule } from "./owner-rules.ts";
import { agentDocument, countStandings, failedBefore, standingWord, styledStanding } from "./standing.ts";

/** The answer of seed 001's `health` first (agent, status, last_output, errors), then everything Rouse knows. */
export function healthDocument(agent: AgentHealth) {
  return {
    agent: agent.agentId,
    status: statusOf(agent),
    // Of an agent whose terminal Rouse does not hold, the last beat is the last output.
    last_output: agent.terminal === null ? agent.lastHeartbeat : agent.terminal.lastOutput,
    errors: errorsOf(agent),
    ...agentDocument(agent),
  };
}

/** One word for a script, which agrees with the exit code of `rouse health AGENT`. */
function statusOf(agent: AgentHealth): string {
  const failed = failedBefore(agent);
  if (failed !== null) return exitWord(failed);
  return agent.over?.how === "exited" ? exitWord(agent.over) : standingWord(agent).toLowerCase();
}

const errorsOf = ({ findings, terminal }: AgentHealth): string[] => [
  ...findings.filter(({ level }) => level !== "note").map(({ text }) => text),
  ...(terminal?.errors ?? []).map(({ text, times }) => `${text}${times === 1 ? "" : ` (${times} times)`}`),
];

export function showHealth(agent: AgentHealth, now: EpochMs, width: number): Line[] {
  const errors = errorsOf(agent).map((text): Line => [text]);
  const { findings, lastHeartbeat, lastCheckpoint, terminal } = agent;
  const facts: (Fact | null)[] = [
    ["agent", [styled("bold", agent.agentId)]],
    [
      "status",
      [failedBefore(agent) ? styled("red", statusOf(agent)) : { ...styledStanding(agent), text: statusOf(agent) }],
    ],
    terminal === null || lastHeartbeat !== null ? ["last heartbeat", [orNoneYet(lastHeartbeat, now)]] : null,
    terminal === null ? null : ["last output", [orNoneYet(terminal.lastOutput, now)]],
    errors.length === 0 && endedBadly(agent) ? null : ["errors", ...orNone(errors)],
    ["state", [styledStanding(agent), ...stateReason(agent)]],
    ["since", [stampAndAge(agent.over?.at ?? agent.stateChangedAt, now)]],
    ["activity", [describeSince(agent, now)]],
    ...wordsOf(agent),
    ...(terminal === null ? [] : showTerminal(terminal, now)),
    ["findings", ...orNone(findings.map(describeFinding))],
    lastCheckpoint === null ? null : ["checkpoint", [stampAndAge(lastCheckpoint, now)]],
    ["identity", [describeIdentity(agent)]],
    ["counted", [describeMetrics(agent)]],
  ];
  return drawFacts(facts, width);
}

/** What the agent itself says of its work. */
export const wordsOf = ({ phase, progress }: AgentHealth): (Fact | null)[] => [
  phase === null ? null : ["its phase", [phase]],
  progress === null ? null : ["its progress", [progress]],
];

const orNoneYet = (at: string | null, now: EpochMs): string => (at === null ? "none yet" : stampAndAge(at, now));

/** Beside a bad end, "errors: none" would be misleading. */
const endedBadly = (agent: AgentHealth): boolean =>
  agent.over ? !isGoodEnd(agent.over) : failedBefore(agent) !== null;

/** The reason of the state; for an agent that is over, what it was ill with. */
export function stateReason({ state, stateReason: reason, over }: AgentHealth): string[] {
  if (!over) return [`, ${reason}`];
  return state === "HEALTHY" || state === "TERMINATED" ? [] : [`, was ${state}: ${reason}`];
}

export function describeSince(agent: AgentHealth, now: EpochMs): string {
  const { exit } = agent.terminal ?? { exit: null };
  if (agent.over) {
    const doing = describeDoing(agent, now);
    const cause = exit === null ? "by its own word" : inWords(exit.cause);
    return `${standingWord(agent)} ${lasting(agent.over.at, now)} ago (${cause})${doing === "" ? "" : `, ${doing}`}`;
  }
  const doing = describeDoing(agent, now);
  const limit = limitInTheWay(agent);
  const said = limit?.by === "text" ? ", by its own words" : "";
  if (limit !== null)
    return exit === null ? `${doing}${said}` : `${doing}; its process ended ${lasting(exit.at, now)} ago`;
  return exit === null
    ? `${describeActivity(agent.activity, now)}, for ${lasting(agent.activity.since, now)}`
    : `${doing}; its process ended ${lasting(exit.at, now)} ago (${exit.cause.replaceAll("-", " ")})`;
}

/** What an agent's terminal and processes show. */
export function showTerminal(terminal: TerminalReport, now: EpochMs): (Fact | null)[] {
  const { needsYou, leftovers, processes, attached, session, restarts, idleKillSeconds, restartRule } = terminal;
  const seen = [
    terminal.family === "generic" ? null : terminal.family,
    terminal.foreground ? "in somebody's terminal" : attached > 0 ? `${attached} attached` : null,
    terminal.holder === "lost" ? "its holder is gone" : null,
    terminal.outputKept ? null : "output cannot be kept",
    session === null ? null : `session ${session.id}`,
    restarts === 0 ? null : `started again ${count(restarts, "time")}`,
    terminal.conversation === undefined ? null : `its conversation was ${terminal.conversation}`,
  ].filter((text) => text !== null);
  const used = processes === null || terminal.exit !== null ? [] : [describeProcesses(processes)];
  return [
    needsYou && ["needs you", [styled("yellow", `${neededFor[needsYou.what]}, for ${lasting(needsYou.since, now)}`)]],
    leftovers === undefined ? null : ["left behind", [styled("yellow", listProcesses(leftovers))]],
    ["process", [[String(terminal.pid), ...used, ...seen].join(" · ")]],
    terminal.eyes.length === 0 || terminal.exit !== null ? null : ["seen by", [describeEyes(terminal.eyes)]],
    idleKillSeconds === null
      ? null
      : ["owner's rule", [`stopped after ${describeSeconds(idleKillSeconds)} without any sign of work`]],
    restartRule === undefined ? null : ["when it ends", [describeRestartRule(restartRule)]],
  ];
}

const eyeNames: Readonly<Record<Eye, string>> = {
  stream: "stream",
  hooks: "hooks",
  "session-file": "session file",
  screen: "screen",
};

/** Names the eyes that see nothing, and why: nobody should take their silence for rest. */
export function describeEyes(eyes: readonly EyeState[]): string {
  const name = ({ eye, because }: EyeState) => (because === null ? eyeNames[eye] : `${eyeNames[eye]} (${because})`);
  const open = eyes.filter(({ sees }) => sees).map(name);
  const shut = eyes
    .filter(({ sees }) => !sees)
    .map(({ because, ...eye }) => name({ ...eye, because: because ?? "unknown" }));
  const seen = open.length === 0 ? "nothing" : open.join(", ");
  return shut.length === 0 ? seen : `${seen}; not by: ${shut.join(", ")}`;
}

function describeProcesses({ processes, cpuMs, memoryBytes }: ProcessFacts): string {
  const counted = `${processes} process${processes === 1 ? "" : "es"}`;
  return `${counted} · ${(cpuMs / 1000).toFixed(1)} s CPU · ${Math.round(memoryBytes / 1024 / 1024)} MB`;
}

export function describeFinding({ level, kind, confidence, text, restrainedBy }: FindingReport): Line {
  const style = level === "note" ? "dim" : level === "degraded" ? "yellow" : "red";
  const heldBack = restrainedBy === undefined ? "" : `, held back: ${restrainedBy}`;
  return [styled(style, level), ` ${kind} (${Math.round(confidence * 100)} %${heldBack}): ${text}`];
}

export function describeIdentity({ taskId, agentType, node, incarnation, lineage, agentId }: AgentHealth): string {
  return [
    `incarnation ${incarnation}`,
    ...(lineage === agentId ? [] : [`lineage ${lineage}`]),
    ...(taskId === null ? [] : [`task ${taskId}`]),
    ...(agentType === null ? [] : [`type ${agentType}`]),
    ...(node === null ? [] : [`node ${node}`]),
  ].join(" · ");
}

function describeMetrics({ metrics }: AgentHealth): string {
  const known = (value: number | null): string => (value === null ? "not reported" : String(value));
  return [
    `up ${describeSeconds(metrics.uptimeSeconds)}`,
    `tokens ${known(metrics.tokenCount)}`,
    `tool calls ${known(metrics.toolCallCount)}`,
    `errors ${known(metrics.errorCount)}`,
    `interventions ${metrics.interventionCount}`,
  ].join(" · ");
}

/** `rouse health` without an agent: how many agents are in which state, then the agents. */
export function showSummary(status: SystemStatus, agents: readonly AgentHealth[], now: EpochMs, width: number): Line[] {
  const counts = countStandings(status).flatMap((one) => ["  ", ...one]);
  const doubts = describeDoubt(status.monitor, now).flatMap((line) => wrapLine(["  ", ...line], width, 4));
  const watched = count(status.total_agents, "agent");
  return [
    [`Rouse ${status.version}, ${status.status}: ${watched}, watching since ${stamp(status.started_at)}`],
    ...doubts,
    ...(counts.length === 0 ? [] : [counts]),
    ...(agents.length === 0 ? [] : [[], ...showHealthList(agents, now, width)]),
  ];
}
