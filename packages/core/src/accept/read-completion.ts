import { seconds } from "@rouse/contract";
import type { Context } from "../context.ts";
import type { Activity } from "../facts.ts";
import type { AgentRecord } from "../record.ts";
import type { TerminalFacts } from "../terminal-facts.ts";
import type { Accepted } from "./accept-registration.ts";
import { endQuestion, isAtInput, type Moment, type SightContext, type Sighted, wakerOf } from "./sighted.ts";
import { turnClock } from "./work-clock.ts";

/** The completion marker is believed after this much quiet: a program that goes on does so within moments. */
export const quietAfterMarker = seconds(30);

/**
 * The agent says that it is done. It is believed when its turn is over, or when it stays quiet. A stream always tells
 * the end of a turn, so there quiet shows nothing: a long answer is quiet too.
 */
export function readMarker(sighted: Sighted, context: SightContext): void {
  const { terminal, activity } = sighted;
  terminal.completedAt = context.at;
  terminal.novelAtMarker = terminal.novel;
  if (activity.kind === "FINISHED") return;
  if (!terminal.structured) terminal.finishesAt = context.at + quietAfterMarker;
  else if (terminal.turnEndedAt !== null) finish(sighted, context);
}

/**
 * A held agent says by a beat that it is done. Its process lives, so it is believed only when it stays quiet: no agent
 * talks itself out of being watched. An agent that its owner wants stopped when idle counts as idle. `null`: nobody
 * holds it.
 */
export function claimEnd(
  { seen: { terminal }, work: { activity } }: AgentRecord,
  { now, policy }: Context,
): { readonly activity: Activity; readonly terminal: Partial<TerminalFacts> } | null {
  if (terminal === null || terminal.exit !== null || terminal.holder === "lost") return null;
  if (terminal.idleKill !== null || policy.terminal.stopOnIdle)
    return { activity: activity.kind === "IDLE" ? activity : { kind: "IDLE", since: now }, terminal: {} };
  const since = activity.kind === "RUNNING" ? activity.since : now;
  const isKnown = terminal.completedAt !== null && terminal.finishesAt !== null;
  const claim = { completedAt: now, finishesAt: now + quietAfterMarker, novelAtMarker: terminal.novel, tools: [] };
  return { activity: { kind: "RUNNING", since, open: null }, terminal: isKnown ? {} : claim };
}

export function finish(sighted: Sighted, context: Moment): void {
  const { terminal } = sighted;
  terminal.finishesAt = null;
  terminal.wait = null;
  endQuestion(sighted, context);
  sighted.activity = { kind: "FINISHED", since: context.at };
}

/**
 * Believes an agent that said it is done, once its holder has seen nothing follow. An agent with an open tool, or that
 * waits for something, is not done.
 */
export function finishIfQuiet(accepted: Accepted, context: Context): Accepted {
  const { record } = accepted;
  const { terminal, facts, limit, steps } = record.seen;
  const { activity } = record.work;
  if (terminal === null || terminal.finishesAt === null || terminal.exit !== null) return accepted;
  if (terminal.seenAt < terminal.finishesAt) return accepted;
  const sighted: Sighted = { terminal: { ...terminal, finishesAt: null }, facts, activity, limit, steps, events: [] };
  if (!isAtRest(sighted)) {
    sighted.terminal.completedAt = null;
    return { ...accepted, record: { ...record, seen: { ...record.seen, terminal: sighted.terminal } } };
  }
  finish(sighted, { agentId: record.agentId, at: terminal.seenAt });
  const clock = turnClock(record.work.clock, sighted.activity, record.life.bornAt, context);
  const finished = {
    ...record,
    seen: { ...record.seen, terminal: sighted.terminal },
    work: { ...record.work, activity: sighted.activity, clock },
  };
  return { ...accepted, record: finished, events: [...accepted.events, ...sighted.events] };
}

function isAtRest({ activity, terminal }: Sighted): boolean {
  if (activity.kind === "RUNNING") return activity.open === null;
  // A process that the agent left running may be a server that never ends, so the agent's word counts.
  if (activity.kind === "WAITING" && activity.for === wakerOf(terminal)) return true;
  return activity.kind !== "WAITING" || (terminal.asks !== null && isAtInput(terminal.asks.what));
}

/** An agent that only quotes the marker goes on talking. */
export function retractCompletion(sighted: Sighted, { at }: SightContext): void {
  const { terminal } = sighted;
  if (terminal.completedAt === null) return;
  terminal.completedAt = null;
  terminal.finishesAt = null;
  if (sighted.activity.kind === "FINISHED") sighted.activity = { kind: "RUNNING", since: at, open: null };
}
