import { type AgentHealth, type EpochMs, type FindingReport, healthStates, type SystemStatus } from "@rouse/contract";
import { showHealthList } from "./agents.ts";
import { describeActivity } from "./describe-activity.ts";
import { describeDoubt } from "./doubt.ts";
import { drawFacts, type Fact } from "./draw-facts.ts";
import { wrapLine } from "./fit-text.ts";
import { type Line, styled, styledState } from "./styled-text.ts";
import { describeSeconds, lasting, stamp, stampAndAge } from "./tell-time.ts";

/** The answer of seed 001's `health` first (agent, status, last_output, errors), then everything Rouse knows. */
export function healthDocument(agent: AgentHealth) {
  return {
    agent: agent.agentId,
    status: agent.state.toLowerCase(),
    // Rouse hears agents by their beats; as long as it holds no terminals, the last beat is the last output.
    last_output: agent.lastHeartbeat,
    errors: errorsOf(agent),
    ...agent,
  };
}

const errorsOf = ({ findings }: AgentHealth): string[] =>
  findings.filter(({ level }) => level !== "note").map(({ text }) => text);

export function showHealth(agent: AgentHealth, now: EpochMs, width: number): Line[] {
  const errors = errorsOf(agent).map((text): Line => [text]);
  const { findings, lastHeartbeat, lastCheckpoint } = agent;
  const facts: Fact[] = [
    ["agent", [styled("bold", agent.agentId)]],
    ["status", [{ ...styledState(agent.state), text: agent.state.toLowerCase() }]],
    ["last heartbeat", [lastHeartbeat === null ? "none yet" : stampAndAge(lastHeartbeat, now)]],
    ["errors", ...(errors.length === 0 ? [["none"]] : errors)],
    ["state", [styledState(agent.state), `, ${agent.stateReason}`]],
    ["since", [stampAndAge(agent.stateChangedAt, now)]],
    ["activity", [`${describeActivity(agent.activity)}, for ${lasting(agent.activity.since, now)}`]],
    ["findings", ...(findings.length === 0 ? [["none"]] : findings.map(describeFinding))],
    ...(lastCheckpoint === null ? [] : [["checkpoint", [stampAndAge(lastCheckpoint, now)]] as Fact]),
    ["identity", [describeIdentity(agent)]],
    ["counted", [describeMetrics(agent)]],
  ];
  return drawFacts(facts, width);
}

export function describeFinding({ level, kind, confidence, text, held }: FindingReport): Line {
  const style = level === "note" ? "dim" : level === "degraded" ? "yellow" : "red";
  const heldBack = held === undefined ? "" : `, held back: ${held}`;
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

/** `rouse health` without an agent: how many are how, then who. */
export function showSummary(status: SystemStatus, agents: readonly AgentHealth[], now: EpochMs, width: number): Line[] {
  const counted = healthStates.filter((state) => status.agents_by_state[state]);
  const counts = counted.flatMap((state) => ["  ", styledState(state), ` ${status.agents_by_state[state]}`]);
  const doubts = describeDoubt(status.monitor, now).flatMap((line) => wrapLine(["  ", ...line], width, 4));
  const agentsWatched = `${status.total_agents} agent${status.total_agents === 1 ? "" : "s"}`;
  return [
    [`Rouse ${status.version}, ${status.status}: ${agentsWatched}, watching since ${stamp(status.started_at)}`],
    ...doubts,
    ...(counts.length === 0 ? [] : [counts]),
    ...(agents.length === 0 ? [] : [[], ...showHealthList(agents, now, width)]),
  ];
}
