import { seconds } from "@rouse/contract";
import type { Context } from "../context.ts";
import type { Activity } from "../facts.ts";
import type { AgentRecord } from "../record.ts";
import type { TerminalFacts } from "../terminal-facts.ts";
import type { Accepted } from "./accept-registration.ts";
import { endQuestion, type Moment, restsWith, type SightContext, type Sighted, wakerOf } from "./sighted.ts";
import { turnClock } from "./work-clock.ts";

/** How long nothing may follow the marker before it is believed: a program that goes on does so within moments. */
export const quietAfterMarker = seconds(30);

/**
 * It says that it is done. That is believed when its turn is over, or when nothing follows for a while. A stream always tells the end of a turn: there
 * quiet shows nothing, because an answer that takes long is quiet, too.
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
 * A held agent says by its beat that it is done. Its process lives, so that is believed when nothing follows, like any other word of it: nobody talks
 * themselves out of being watched. Whom its owner wants stopped when it idles, idles. `null`: nobody holds it, and its word is all there is.
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
 * It said that it is done, and its holder has seen nothing follow. A quiet that nobody looked at is none; and who has a tool open or waits for
 * something is not done, whatever it said.
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
  // What it left running may be a server that never ends: its word counts.
  if (activity.kind === "WAITING" && activity.for === wakerOf(terminal)) return true;
  return activity.kind !== "WAITING" || (terminal.asks !== null && restsWith(terminal.asks.what));
}

/** Somebody who quotes the marker goes on talking; somebody who means it does not. */
export function takeUpAgain(sighted: Sighted, { at }: SightContext): void {
  const { terminal } = sighted;
  if (terminal.completedAt === null) return;
  terminal.completedAt = null;
  terminal.finishesAt = null;
  if (sighted.activity.kind === "FINISHED") sighted.activity = { kind: "RUNNING", since: at, open: null };
}
