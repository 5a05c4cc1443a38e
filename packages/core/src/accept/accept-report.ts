import {
  type DurationMs,
  type HolderInfo,
  type HolderReport,
  type MonoMs,
  type Policy,
  type RouseEvent,
  type Sight,
  seconds,
} from "@rouse/contract";
import type { Context } from "../context.ts";
import { type Activity, isToolOpen, type Mark, type WorkClock } from "../facts.ts";
import { isHeldBack } from "../incident.ts";
import { type AgentRecord, lifeOf, nextIncarnation } from "../record.ts";
import type { HeldSignal, ReportSignal, Signal } from "../signal.ts";
import { lacksMarker, newTerminal, speaksForCommand, type TerminalFacts } from "../terminal-facts.ts";
import { type Accepted, learnt } from "./accept-registration.ts";
import { beatRhythm } from "./beat-rhythm.ts";
import { endAtRefusal, waitOutLimit } from "./read-limit.ts";
import { readSight } from "./read-sights.ts";
import { readTree } from "./read-tree.ts";
import { questionEnded, type Sighted, stopAwaiting } from "./sighted.ts";
import { markNow, noteQuiet, turnClock, withoutStretch, workedUntil } from "./work-clock.ts";

/** A holder keeps the agent's terminal: a new life, or the same one found again by a monitor that was away. */
export function acceptHeld(record: AgentRecord, signal: HeldSignal, context: Context): Accepted {
  const { now } = context;
  const { hold } = signal;
  const { agentId, incarnation } = hold;
  if (incarnation < record.life.incarnation) return refused(record, null);
  const isNew = incarnation > record.life.incarnation;
  const base = isNew ? begin(record, hold, now) : withoutUnseen(record, context);
  const sameTerminal = !isNew && base.seen.terminal !== null && base.seen.terminal.pid === hold.pid;
  const mark = markNow(base.work.clock, now);
  // An agent that is found again may work on another task than the one it was started for.
  const named = sameTerminal ? null : hold.taskId;
  const taskId = named ?? base.task.id;
  const next: AgentRecord = {
    ...base,
    identity: {
      ...base.identity,
      agentType: hold.agentType ?? base.identity.agentType,
      policy: hold.policy ?? base.identity.policy,
    },
    task: {
      ...base.task,
      id: taskId,
      assignedAt: taskId === base.task.id ? base.task.assignedAt : now,
      claimed: named === null && base.task.claimed,
    },
    life: { ...base.life, heard: true, heardAt: now },
    work: { ...base.work, clock: sameTerminal ? base.work.clock : firstClock(base, hold, context) },
    seen: {
      ...base.seen,
      terminal:
        sameTerminal && base.seen.terminal !== null
          ? {
              ...returned(base.seen.terminal, mark),
              ...(hold.identity === undefined ? {} : { identity: hold.identity }),
            }
          : newTerminal(hold, mark, signal.ago),
    },
  };
  const events: RouseEvent[] = [];
  if (isNew) {
    const payload = { agentId, from: record.life.incarnation, to: incarnation, because: "started-by-holder" } as const;
    events.push({ type: "AGENT_INCARNATION_STARTED", payload });
  }
  if (!sameTerminal || signal.adopted) {
    events.push({ type: "AGENT_HELD", payload: { agentId, incarnation, pid: hold.pid, adopted: signal.adopted } });
  }
  return { record: next, answer: taken(null), events };
}

/** An agent that a person starts in their own terminal does not inherit the limit of whoever had its name before. */
function begin(record: AgentRecord, { incarnation, foreground }: HolderInfo, now: MonoMs): AgentRecord {
  const next = nextIncarnation(record, incarnation, now);
  return foreground ? { ...next, seen: { ...next.seen, limit: null } } : next;
}

function firstClock(
  { work: { clock, activity }, life: { bornAt } }: AgentRecord,
  { idleKillMs }: HolderInfo,
  context: Context,
) {
  const { now, policy } = context;
  if (idleKillMs == null && !policy.terminal.stopOnIdle) return turnClock(clock, activity, bornAt, context);
  return { total: workedUntil(clock, now), resumesAt: now };
}

/** What a holder saw. A report that was read before changes nothing, and the holder is told so. */
export function acceptReport(given: AgentRecord, signal: ReportSignal, context: Context): Accepted {
  const { now, policy } = context;
  const { report } = signal;
  const { terminal } = given.seen;
  if (terminal === null || signal.incarnation !== given.life.incarnation) return refused(given, report.seq);
  if (report.seq <= terminal.lastReport) {
    return { record: given, answer: { status: "duplicate", sequence: report.seq, because: "seen-before" }, events: [] };
  }
  const record = withoutUnseen(given, context);
  const saidAt = now - signal.ago;
  const at = Math.max(record.life.bornAt, saidAt);
  const mark = markNow(record.work.clock, now);
  const sighted: Sighted = {
    terminal: { ...returned(terminal, mark), ...countersOf(signal, at, terminal), lastReport: report.seq, seenAt: at },
    facts: { ...record.seen.facts },
    activity: record.work.activity,
    limit: record.seen.limit,
    steps: record.seen.steps,
    events: [],
  };
  const limited = report.sights.some(({ kind }) => kind === "rate-limited");
  const heldBack = isHeldBack(record.ladder.containment);
  const surroundings = { agentId: record.agentId, at, mark, late: at - saidAt, heldBack, limited, policy };
  const { events } = sighted;
  // Sights that come after the exit are the rest of the output, not something the agent does.
  if (terminal.exit === null) {
    for (const sight of report.sights) readSight(sighted, sight, surroundings);
    for (const sight of sightsOfReading(terminal, report, sighted.activity)) readSight(sighted, sight, surroundings);
    stopAwaiting(sighted, record.agentId, mark, at, policy);
    endStart(sighted, record, at, policy);
    if (report.exit !== null) endAtRefusal(sighted, report.exit, terminal, surroundings);
    waitOutLimit(sighted, record.work.activity, at);
  }
  events.push(...takeLeftovers(sighted, report, record.agentId, at));
  const { activity, terminal: shown, facts, limit, steps } = sighted;
  const heard: AgentRecord = {
    ...record,
    life: { ...record.life, heard: true, heardAt: now },
    work: { ...record.work, activity },
    seen: { terminal: shown, facts, limit, steps, breakers: record.seen.breakers },
  };
  if (report.exit === null && terminal.exit === null) events.push(...cameOrLeft(heard, terminal));
  const isNews = terminal.exit === null || terminal.exit.cause === "unseen";
  const ended = report.exit !== null && isNews ? takeExit(heard, { ...report.exit, at }) : heard;
  if (ended !== heard) events.push(...exited(heard, ended, at));
  const clocked = withClocks(record, ended, context);
  return { record: noteQuiet(record, clocked), answer: taken(report.seq), events };
}

/** An agent that prints nothing counts as started after the grace for starting, unless its own beats say otherwise. */
function endStart(sighted: Sighted, { beats, life: { bornAt } }: AgentRecord, at: MonoMs, policy: Policy): void {
  const started = bornAt + policy.startupGrace;
  if (sighted.activity.kind !== "STARTING" || beats.accepted > 0 || at < started) return;
  sighted.activity = { kind: "RUNNING", since: started, open: null };
}

/** An agent that left processes running has not finished, whatever it said. That is told once. */
function takeLeftovers(sighted: Sighted, report: HolderReport, agentId: string, at: MonoMs): RouseEvent[] {
  const { terminal } = sighted;
  const before = terminal.leftovers ?? null;
  // The report without leftovers also brings the exit.
  const known = report.exit === null && terminal.exit === null ? (before?.processes ?? []) : [];
  const processes = report.leftovers ?? known;
  terminal.leftovers = processes.length === 0 ? null : { processes, since: before?.since ?? at };
  if (processes.length === 0) return [];
  const told: RouseEvent[] = [];
  if (report.exit === null && terminal.exit === null) {
    // The agent's own process is over, so nobody can answer its question any more.
    const { asks } = terminal;
    if (asks !== null && asks.untold !== true) told.push(questionEnded(agentId, asks.since, at));
    terminal.asks = null;
    terminal.wait = null;
    terminal.finishesAt = null;
    const { activity } = sighted;
    const same = activity.kind === "WAITING" && activity.for === "children";
    if (!same) sighted.activity = { kind: "WAITING", since: at, for: "children", until: null };
  }
  if (before === null) told.push({ type: "AGENT_LEFT_PROCESSES", payload: { agentId, processes: [...processes] } });
  return told;
}

function cameOrLeft(
  { agentId, life: { incarnation }, seen: { terminal } }: AgentRecord,
  before: TerminalFacts,
): RouseEvent[] {
  const attached = terminal?.attached ?? 0;
  // The first report tells whether somebody sits before an agent that runs in the foreground.
  const isFirst = before.foreground && before.lastReport === 0;
  if (attached === before.attached || isFirst) return [];
  const type = attached > before.attached ? "AGENT_ATTACHED" : "AGENT_DETACHED";
  return [{ type, payload: { agentId, incarnation, attached } }];
}

/** What was written while no holder kept the terminal is unknown, so the wait for output starts again. */
const returned = (terminal: TerminalFacts, mark: Mark): TerminalFacts =>
  terminal.holder === "here" ? terminal : { ...terminal, holder: "here", output: mark };

/** Longer than a holder is ever quiet. */
const holderSilence: DurationMs = seconds(30);

/** The work clock leaves out time in which nobody could see the agent. */
function withoutUnseen(record: AgentRecord, { now, policy }: Context): AgentRecord {
  const knownFor = Math.max(beatRhythm(record.work.activity, policy).interval + policy.beatGrace, holderSilence);
  const knownUntil = record.life.heardAt + knownFor;
  return now > knownUntil ? withClock(record, withoutStretch(record.work.clock, knownUntil, now)) : record;
}

const withClock = (record: AgentRecord, clock: WorkClock): AgentRecord => ({
  ...record,
  work: { ...record.work, clock },
});

/** A lost holder says nothing about the agent, unless the agent's own process is gone too. */
export function acceptHolderLost(
  record: AgentRecord,
  signal: Extract<Signal, { kind: "holder-lost" }>,
  context: Context,
): Accepted {
  const { now } = context;
  const { terminal } = record.seen;
  if (terminal === null || signal.incarnation !== record.life.incarnation || terminal.exit !== null)
    return learnt(record);
  const { agentId, incarnation } = lifeOf(record);
  const { process, because = "gone" } = signal;
  const events: RouseEvent[] = [];
  if (terminal.holder === "here" || (terminal.lostBecause ?? "gone") !== because)
    events.push({ type: "HOLDER_LOST", payload: { agentId, incarnation, process, because } });
  const lost: AgentRecord = {
    ...record,
    seen: { ...record.seen, terminal: { ...terminal, holder: "lost", lostBecause: because } },
  };
  if (signal.process === "alive") return learnt(lost, events);
  const exit = signal.exit ?? { code: null, signal: null, cause: "unseen" as const };
  const at = Math.max(record.life.bornAt, now - (signal.ago ?? 0));
  const ended = takeExit(lost, { ...exit, at });
  events.push(...exited(lost, ended, now));
  return learnt(withClocks(record, ended, context), events);
}

/** An agent that was done but left processes in a person's terminal finishes with the last of those. */
export function acceptLeftoversGone(
  record: AgentRecord,
  signal: Extract<Signal, { kind: "leftovers-gone" }>,
  context: Context,
): Accepted {
  const { terminal } = record.seen;
  const isMeant = signal.incarnation === record.life.incarnation && (terminal?.leftovers ?? null) !== null;
  if (terminal === null || terminal.exit === null || !isMeant) return learnt(record);
  const ended = takeExit(
    { ...record, seen: { ...record.seen, terminal: { ...terminal, leftovers: null } } },
    terminal.exit,
  );
  return learnt(withClocks(record, ended, context));
}

/**
 * An agent has finished with status 0 (unless its turn failed or an announced marker is missing), with the completion
 * marker, or by a person's own hand. The assessment judges every other exit. Some programs exit with 0 after their
 * stream said that they failed.
 */
function takeExit(record: AgentRecord, exit: NonNullable<TerminalFacts["exit"]>): AgentRecord {
  if (record.seen.terminal === null) return record;
  const terminal: TerminalFacts = { ...record.seen.terminal, exit, asks: null, wait: null, tools: [], attached: 0 };
  const succeeded =
    exit.code === 0 && (terminal.failedTurn == null || !speaksForCommand(terminal)) && !lacksMarker(terminal);
  const done = succeeded || exit.cause === "person" || terminal.completedAt !== null;
  // In a person's terminal no holder stays behind to watch processes that go on.
  const worksOn = terminal.foreground && (terminal.leftovers ?? null) !== null;
  const finished = done && !worksOn && exit.cause !== "stopped" && record.work.activity.kind !== "FINISHED";
  return {
    ...record,
    seen: { ...record.seen, terminal },
    work: { ...record.work, activity: finished ? { kind: "FINISHED", since: exit.at } : record.work.activity },
  };
}

/** An agent that is gone asks nothing any more. */
function exited(
  before: AgentRecord,
  { agentId, life: { incarnation }, seen: { terminal } }: AgentRecord,
  at: MonoMs,
): RouseEvent[] {
  const { code, signal, cause } = terminal?.exit ?? { code: null, signal: null, cause: "unseen" as const };
  const asked = before.seen.terminal?.asks ?? null;
  return [
    ...(asked === null || asked.untold === true ? [] : [questionEnded(agentId, asked.since, at)]),
    { type: "PROCESS_EXITED", payload: { agentId, incarnation, code, signal, cause } },
  ];
}

/**
 * The activity decides whether the work clock runs. Work in the children of an open tool holds it, within the longest
 * wait for children.
 */
function withClocks(before: AgentRecord, after: AgentRecord, context: Context): AgentRecord {
  const { now, policy } = context;
  const { activity } = after.work;
  const changed = activity !== before.work.activity;
  const clock = changed ? turnClock(before.work.clock, activity, after.life.bornAt, context) : before.work.clock;
  if (!isToolOpen(activity) || clock.resumesAt === null) return withClock(after, clock);
  const busyAt = after.seen.terminal?.tree?.busyAt ?? null;
  const granted =
    busyAt === null ? 0 : Math.min(busyAt + policy.openTool, activity.open.since + policy.longestWait.children);
  // A grant in the past (the report came late) would count the time since then twice.
  if (granted <= Math.max(clock.resumesAt, now)) return withClock(after, clock);
  return withClock(after, { total: workedUntil(clock, now), resumesAt: granted });
}

function countersOf({ report, ago }: ReportSignal, at: MonoMs, before: TerminalFacts) {
  const { output, process } = report;
  const wroteAgo = output.lastAt === null ? null : Math.max(0, report.at - output.lastAt) + ago;
  return {
    family: report.family ?? before.family,
    input: report.input ?? before.input,
    eyes: report.eyes ?? before.eyes,
    attached: report.attached,
    fullScreen: report.fullScreen,
    outputKept: report.outputKept,
    bytes: output.bytes,
    rows: output.rows,
    wroteAt: wroteAgo === null ? before.wroteAt : at + ago - wroteAgo,
    tree: process === null ? before.tree : readTree(before.tree, process, at, (wall) => at - (report.at - wall)),
  };
}

/**
 * A process that reads its terminal wants something typed, whatever its question looks like. It takes two readings in a
 * row, so that a line that was read at once is no question. Where nobody can look, new lines show that it went on.
 */
function sightsOfReading(
  before: TerminalFacts,
  { process: facts, sights }: HolderReport,
  activity: Activity,
): readonly Sight[] {
  const { asks, tree, structured, output } = before;
  const reads = facts?.readsTerminal ?? null;
  const goesOn =
    reads === false || (reads === null && sights.some((sight) => sight.kind === "output" && sight.novel > 0));
  if (asks?.what === "input" && goesOn) return [{ kind: "asks-no-more" }];
  if (structured || reads !== true || tree?.readsTerminal !== true) return [];
  const isAtWork = activity.kind === "STARTING" || (activity.kind === "RUNNING" && activity.open === null);
  // A limit that a person was told of is no question on the screen: an agent that has written since wants something
  // else.
  const isPastLimit = asks?.what === "limit" && output.at > asks.since;
  if (!isPastLimit && (asks !== null || !isAtWork)) return [];
  return [{ kind: "asks", what: "input", pattern: "reads its terminal" }];
}

const taken = (sequence: number | null) => ({ status: "accepted" as const, sequence, because: null });

function refused(record: AgentRecord, sequence: number | null): Accepted {
  return { record, answer: { status: "rejected", sequence, because: "old-incarnation" }, events: [] };
}
