import {
  type ActivityReport,
  type AgentHealth,
  type AgentList,
  type EpochMs,
  type HealthState,
  healthStates,
  isPersonsMatter,
  type LimitReport,
} from "@rouse/contract";
import type { Surroundings } from "../surroundings.ts";
import { type Cell, drawList, type ListColumn, none } from "../text/draw-table.ts";
import { countProcesses, inWords } from "../text/phrases.ts";
import { type Line, styled, wrapLine } from "../text/styled-text.ts";
import { ago, countdown, stamp } from "../text/tell-time.ts";
import { describeRestraint } from "./doubt.ts";
import { agentDocument, countOver, describeEnd, isDoneWith, styledStanding } from "./standing.ts";

let byName: Intl.Collator | undefined;

/** The collator is made when it is first needed: Node takes a while to make one, and a single agent needs no order. */
function compareNames(a: AgentHealth, b: AgentHealth): number {
  byName ??= new Intl.Collator("en", { numeric: true });
  return byName.compare(a.agentId, b.agentId);
}

/** The first three columns stay in the narrowest terminal; of the others those with the lowest `drops` go first. */
const psColumns = (now: EpochMs, view: PsView): readonly ListColumn<AgentHealth>[] => [
  ["AGENT", ({ agentId }) => agentId, { least: 10, wants: 24 }],
  ["STATE", styledStanding, { least: 8, wants: 16 }],
  ["ACTIVITY", (agent) => describeDoing(agent, now) || none, { least: 18, wants: 30 }],
  [view.watching ? "SINCE" : "HEARD", (agent) => ageOf(agent, now, view), { least: 8, drops: 4 }],
  ["TASK", ({ taskId }) => taskId ?? none, { least: 6, drops: 3 }],
  ["INCARNATION", ({ incarnation }) => String(incarnation), { least: 4, drops: 1 }],
  ["NODE", ({ node }) => node ?? none, { least: 5, drops: 2 }],
];

interface PsView {
  /** Also shows agents that are over and need nobody. */
  readonly all: boolean;
  /** Only some agents were asked for. */
  readonly filtered: boolean;
  /** The picture is drawn after events, and beats are none: it shows since when a state lasts, not who was heard. */
  readonly watching?: boolean;
}

const wholeFleet: PsView = { all: false, filtered: false };

/** `rouse ps`: who is there and what are they doing. */
export function showAgents(agents: readonly AgentHealth[], now: EpochMs, width: number, view = wholeFleet): Line[] {
  const hidden = view.all ? [] : agents.filter(isDoneWith);
  const shown = agents.filter((agent) => !hidden.includes(agent));
  const footer = hidden.length === 0 ? [] : wrapLine(hiddenNote(hidden), width, 0);
  if (shown.length === 0) return [...wrapLine([whyEmpty(agents, view)], width, 0), ...footer];
  return [...drawList(shown.toSorted(compareNames), psColumns(now, view), width), ...footer];
}

function ageOf(agent: AgentHealth, now: EpochMs, { watching }: PsView): Cell {
  if (watching) return ago(agent.over?.at ?? agent.stateChangedAt, now);
  const heard = agent.lastHeard;
  return heard === null ? none : ago(heard, now);
}

function whyEmpty(agents: readonly AgentHealth[], { filtered }: PsView): string {
  if (agents.length > 0) return filtered ? "Nobody of those is there any more." : "Nobody is there any more.";
  return filtered ? "No agent is like that." : "No agents yet. Start one with `rouse run`, or let it send a heartbeat.";
}

const hiddenNote = (hidden: readonly AgentHealth[]): Line => [
  styled("dim", `${countOver(hidden)}; \`rouse ps --all\` shows ${hidden.length === 1 ? "it" : "them"}`),
];

/** What an agent does, or what is done about it. Empty for an agent that is over and needs nobody. */
export function describeDoing(agent: AgentHealth, now: EpochMs): string {
  const { activity, terminal, over } = agent;
  if (over)
    return isPersonsMatter(agent) ? `needs you: ${inWords(agent.handedOver?.because ?? "")}` : failedTurn(agent);
  const limit = limitInTheWay(agent);
  if (limit !== null && terminal?.needsYou?.what !== "limit") return describeLimit(limit, now);
  const left = terminal?.leftovers === undefined ? [] : [`left ${countProcesses(terminal.leftovers)}`];
  if (terminal?.exit != null) {
    const end = describeEnd(terminal.exit, terminal.failedTurn !== undefined);
    return [end, ...left, ...whatNext(agent, left)].join(", ");
  }
  if (left.length > 0) return left.join();
  return terminal?.needsYou == null ? describeActivity(activity, now) : `needs you: ${inWords(terminal.needsYou.what)}`;
}

const failedTurn = ({ over, terminal }: AgentHealth): string =>
  over?.how === "exited" && over.code === 0 && terminal?.failedTurn !== undefined ? "its turn failed" : "";

/** What follows for an agent whose process ended and that is not over. */
function whatNext({ incident, handedOver }: AgentHealth, left: readonly string[]): string[] {
  if (left.length > 0 || handedOver !== null) return [];
  return [incident?.escalation == null ? "starts again" : "waits for an answer"];
}

/** The limit that an agent waits for. One that is over, or ended in a person's terminal, waits for none. */
export const limitInTheWay = ({ over, limit, terminal }: AgentHealth): AgentHealth["limit"] =>
  over || (terminal?.exit != null && terminal.foreground) ? null : limit;

/** `rouse health`: all agents with their state and why, the worst first. */
export function showHealthList(agents: readonly AgentHealth[], now: EpochMs, width: number): Line[] {
  const columns: ListColumn<AgentHealth>[] = [
    ["AGENT", ({ agentId }) => agentId, { least: 12 }],
    ["STATE", styledStanding],
    ["SINCE", ({ over, stateChangedAt }) => ago(over?.at ?? stateChangedAt, now)],
    ["WHY", whyOf, { least: 20 }],
  ];
  const worstFirst = agents.toSorted((a, b) => badness(b) - badness(a) || compareNames(a, b));
  return drawList(worstFirst, columns, width);
}

/** Of an agent that is over and was never ill, the state's reason is only that it began: that says nothing. */
function whyOf({ findings, over, stateReason: reason }: AgentHealth): Cell {
  const isMereStart = reason === "registered" || reason === "new-incarnation";
  return findings[0]?.text ?? (over && isMereStart ? none : reason);
}

const worst: readonly HealthState[] = ["FAILING", "UNRESPONSIVE", "STUCK", "QUARANTINED", "DEGRADED", "TERMINATED"];

/** Agents that are over come last, unless a person is needed for them. */
function badness(agent: AgentHealth): number {
  if (isDoneWith(agent)) return -1;
  return worst.includes(agent.state) ? healthStates.length - worst.indexOf(agent.state) : 0;
}

/** Which agents are asked for, and how they are shown. */
export interface PsPlan {
  readonly view: PsView;
  readonly choose: (agents: readonly AgentHealth[]) => readonly AgentHealth[];
}

/** The JSON of `rouse ps`: the agents that a person is shown, and how many are hidden. */
export function documentOf({ agents, monitor }: AgentList, { view, choose }: PsPlan) {
  const chosen = choose(agents);
  const shown = view.all ? chosen : chosen.filter((agent) => !isDoneWith(agent));
  const hidden = chosen.length - shown.length;
  return { agents: shown.map(agentDocument), ...(monitor && { monitor }), ...(hidden > 0 && { hidden }) };
}

/** The lines of `rouse ps`: what keeps Rouse from acting, then the agents. */
export function picture(
  { agents, monitor }: AgentList,
  { view, choose }: PsPlan,
  { now, width }: Pick<Surroundings, "now" | "width">,
): Line[] {
  const restraint = monitor === undefined ? [] : describeRestraint(monitor, now(), width);
  return [...restraint, ...showAgents(choose(agents), now(), width, view)];
}

/**
 * "RUNNING tool npm-test", "WAITING for provider", "IDLE". A wait that is known only from the agent's text is worded as
 * a claim, and one whose time is up as past.
 */
export function describeActivity({ kind, open, for: what, by, until }: ActivityReport, now: EpochMs): string {
  if (open !== undefined) return `${kind} ${open.kind}${open.name === undefined ? "" : ` ${open.name}`}`;
  if (until !== undefined && Date.parse(until) < now) return `waited for ${what} until ${stamp(until)}`;
  if (by === "text") return `says it waits for its provider${until === undefined ? "" : ` until ${stamp(until)}`}`;
  return what === undefined ? kind : `${kind} for ${what}`;
}

/**
 * "limit, resets in 2h 05m". Without a named reset it says when the agent tries again; after the reset, when Rouse
 * acts; after that, only that the limit is over.
 */
export function describeLimit({ named, until, resetsAt = until, seenToAt = until }: LimitReport, now: EpochMs): string {
  const left = Date.parse(named ? resetsAt : seenToAt) - now;
  if (left > 0) return `limit, ${named ? "resets" : "tried again"} in ${countdown(left)}`;
  const rest = Date.parse(seenToAt) - now;
  return rest > 0 ? `limit is over, Rouse acts in ${countdown(rest)}` : "limit is over";
}
