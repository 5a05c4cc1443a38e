import { type AgentHealth, type EpochMs, type ExitStatus, type HealthState, healthStates } from "@rouse/contract";
import { describeActivity, describeLimit } from "./describe-activity.ts";
import { type Column, drawTable } from "./draw-table.ts";
import { inWords } from "./in-words.ts";
import { countProcesses } from "./list-processes.ts";
import { type Line, styled, styledState } from "./styled-text.ts";
import { ago } from "./tell-time.ts";

const none = styled("dim", "–");

let byName: Intl.Collator | undefined;

/** Node takes a while to make the first of these, and one agent needs no order. */
function compareNames(a: AgentHealth, b: AgentHealth): number {
  byName ??= new Intl.Collator("en", { numeric: true });
  return byName.compare(a.agentId, b.agentId);
}

const psColumns: readonly Column[] = [
  { title: "AGENT", least: 12 },
  { title: "STATE" },
  { title: "ACTIVITY", least: 9 },
  { title: "HEARD", least: 8 },
  { title: "TASK", least: 6 },
  { title: "INCARNATION", least: 4 },
  { title: "NODE", least: 5 },
];

/** `rouse ps`: who is there and what are they doing. */
export function showAgents(agents: readonly AgentHealth[], now: EpochMs, width: number): Line[] {
  if (agents.length === 0) return [["No agents yet. Start one with `rouse run`, or let it send a heartbeat."]];
  const rows = agents
    .toSorted(compareNames)
    .map((agent) => [
      agent.agentId,
      styledState(agent.state),
      describeDoing(agent, now),
      lastHeard(agent) === null ? none : ago(lastHeard(agent) ?? "", now),
      agent.taskId ?? none,
      String(agent.incarnation),
      agent.node ?? none,
    ]);
  return drawTable(psColumns, rows, width);
}

/** An end outweighs what it was doing before, and a limit the end that it led to, for as long as that is not for good. */
export function describeDoing(agent: AgentHealth, now: EpochMs): string {
  const { activity, terminal } = agent;
  const limit = limitInTheWay(agent);
  if (limit !== null && terminal?.needsYou?.what !== "limit") return describeLimit(limit, now);
  if (terminal?.exit == null && terminal?.leftovers !== undefined) return `left ${countProcesses(terminal.leftovers)}`;
  if (terminal?.exit == null)
    return terminal?.needsYou == null
      ? describeActivity(activity, now)
      : `needs you: ${inWords(terminal.needsYou.what)}`;
  const end = describeEnd(terminal.exit, terminal.failedTurn !== undefined && activity.kind !== "FINISHED");
  return terminal.leftovers === undefined ? end : `${end}, left ${countProcesses(terminal.leftovers)}`;
}

function describeEnd({ code, signal }: ExitStatus, failed: boolean): string {
  if (signal !== null) return `ended by ${signal}`;
  if (code === 0 && failed) return "ended: failed";
  return code === null ? "ended" : `ended with ${code}`;
}

/** Who has finished, or ended in a person's terminal, waits for no limit any more. */
export const limitInTheWay = ({ activity, terminal, limit }: AgentHealth): AgentHealth["limit"] =>
  terminal?.exit != null && (terminal.foreground || activity.kind === "FINISHED") ? null : limit;

/** Its own word, what it wrote, or what its program told. */
export function lastHeard({ lastHeartbeat, terminal }: AgentHealth): string | null {
  const heard = [lastHeartbeat, terminal?.lastOutput, terminal?.lastTold].filter((at) => at != null);
  return heard.sort().at(-1) ?? null;
}

const healthColumns: readonly Column[] = [
  { title: "AGENT", least: 12 },
  { title: "STATE" },
  { title: "SINCE" },
  { title: "WHY", least: 20 },
];

/** `rouse health`: who is how, the worst first, and why. */
export function showHealthList(agents: readonly AgentHealth[], now: EpochMs, width: number): Line[] {
  const rows = agents
    .toSorted((a, b) => badness(b.state) - badness(a.state) || compareNames(a, b))
    .map((agent) => [
      agent.agentId,
      styledState(agent.state),
      ago(agent.stateChangedAt, now),
      agent.findings[0]?.text ?? agent.stateReason,
    ]);
  return drawTable(healthColumns, rows, width);
}

const worstFirst: readonly HealthState[] = [
  "FAILING",
  "UNRESPONSIVE",
  "STUCK",
  "QUARANTINED",
  "DEGRADED",
  "TERMINATED",
];

const badness = (state: HealthState): number =>
  worstFirst.includes(state) ? healthStates.length - worstFirst.indexOf(state) : 0;
