import {
  type DurationMs,
  type MonoMs,
  minutes,
  type Policy,
  type Question,
  type RouseEvent,
  type Sight,
  seconds,
} from "@rouse/contract";
import type { Context } from "../context.ts";
import type { Activity, Facts, Mark } from "../facts.ts";
import { isStanding } from "../limit.ts";
import type { AgentRecord } from "../record.ts";
import { endTurn } from "../steps/find-loops.ts";
import { followStep } from "../steps/follow-steps.ts";
import { newTrail, type StepTrail } from "../steps/step.ts";
import { isOfProgram, stepOfSight } from "../steps/step-of-sight.ts";
import { type ErrorClass, type Limit, type TerminalFacts, tellsSteps } from "../terminal-facts.ts";
import type { Accepted } from "./accept-registration.ts";
import { awaitWaker, wakerOf } from "./await-waker.ts";
import { addOutcome } from "./read-facts.ts";
import { answeredAfter, countLines, isWorkedOn, limitReached, limitResumed, meetLimit } from "./read-limit.ts";
import { turnClock } from "./work-clock.ts";

/** Bounds of what is remembered of one terminal. */
const mostErrorClasses = 6;
const mostSeen = 30;
const mostTools = 16;

/** The same error within this time is one event that was printed more than once. */
const sameError = 5000;

type Changing<T> = { -readonly [K in keyof T]: T[K] };

/** What the sights of one report come to. */
export interface Sighted {
  terminal: Changing<TerminalFacts>;
  facts: Changing<Facts>;
  activity: Activity;
  limit: Limit | null;
  steps: StepTrail | null;
  /** What was asked until work went on, in the same report: it may stand there still. */
  answered?: { readonly asks: NonNullable<TerminalFacts["asks"]>; readonly told: RouseEvent | null } | undefined;
  readonly events: RouseEvent[];
}

interface Moment {
  readonly agentId: string;
  readonly at: MonoMs;
}

interface SightContext extends Moment {
  readonly mark: Mark;
  /** How much earlier it was seen, of a life that nobody knew of then. */
  readonly late: DurationMs;
  /** We keep it from going on: that its turn ends is our doing. */
  readonly heldBack: boolean;
  /** The same report tells of a limit: what is drawn with that is no work. */
  readonly limited: boolean;
  readonly policy: Policy;
}

/** Takes in one sight. What it shows of the work counts as it would on a heartbeat; what it shows of waiting stops the clocks. */
export function readSight(sighted: Sighted, sight: Sight, context: SightContext): void {
  const { terminal } = sighted;
  const { at, mark } = context;
  // Each sight of a stream is a line it wrote; so is each that only a program can tell, by whatever way.
  if (terminal.structured || (tellsSteps(terminal) && isOfProgram(sight))) {
    terminal.output = mark;
    sighted.steps = followSight(sighted.steps, sight, context);
  }
  switch (sight.kind) {
    case "output":
      return readOutput(sighted, sight, context);
    case "rate-limited":
      return readRateLimit(sighted, sight, context);
    case "retries":
      return readRetry(sighted, sight, context);
    case "asks":
      return readQuestion(sighted, sight, context);
    case "asks-no-more":
      return stopAsking(sighted, context);
    case "error":
      // Who errs on has not done what it said, however often the same is printed.
      if (at - (terminal.completedAt ?? at) > quietAfterMarker) takeUpAgain(sighted, context);
      terminal.errors = addError(terminal, sight, at, context.policy.terminal.repeatedErrorWindow);
      return;
    case "completed":
      return readMarker(sighted, context);
    case "context-limit":
      if (terminal.contextLimitAt === null || hasOutlivedLimit(terminal, context.policy))
        terminal.contextLimitAt = mark;
      return;
    case "file-touched":
      terminal.file =
        terminal.file?.digest === sight.digest
          ? { digest: sight.digest, times: terminal.file.times + 1 }
          : { digest: sight.digest, times: 1 };
      return;
    case "session":
      terminal.session = { id: sight.id, model: sight.model };
      return;
    case "model-asked":
      beginTurn(terminal);
      takeUpAgain(sighted, context);
      return goOn(sighted, { kind: "model", since: at }, context);
    case "said":
      return readSaid(sighted, sight.digest, context);
    case "tool-started":
      return startTool(sighted, sight, context);
    case "tool-goes-on":
    case "nudge-read":
      return;
    case "tool-ended":
      return endTool(sighted, sight, context);
    case "tokens":
      if (sight.total !== sighted.facts.tokenCount) sighted.facts.tokens = mark;
      sighted.facts.tokenCount = sight.total;
      terminal.tokensAtProgress ??= sight.total;
      return;
    case "compacts":
      if (sight.over) {
        terminal.contextLimitAt = null;
        const again = terminal.compactions !== null && terminal.compactions.novel === terminal.novel;
        terminal.putOff = null;
        terminal.compactions = { times: again ? (terminal.compactions?.times ?? 0) + 1 : 1, novel: terminal.novel };
      }
      return goOn(sighted, { kind: "model", since: at }, context);
    case "turn-ended":
      terminal.tools = [];
      if (sight.outcome === "success") {
        terminal.putOff = null;
        endLimit(sighted, context);
      }
      terminal.wokenBy = sight.wokenBy ?? null;
      if (sight.outcome === "success" || !needsAccount(terminal)) goOn(sighted, null, context);
      terminal.turnEndedAt = mark;
      terminal.failedTurn = sight.outcome === "failure" ? sight.reason : null;
      if (terminal.completedAt !== null && sighted.activity.kind !== "FINISHED") finish(sighted, context);
      return;
  }
}

/** What its turn failed for stands there after it as well. */
const needsAccount = ({ asks }: TerminalFacts): boolean =>
  asks?.what === "login" || asks?.what === "credits" || asks?.what === "api-key";

/** A program that tells its steps tells every call and what came of it, as an agent that records its steps would. */
function followSight(trail: StepTrail | null, sight: Sight, context: SightContext): StepTrail | null {
  const { at, policy, heldBack } = context;
  if (sight.kind === "tokens") return trail === null ? null : { ...trail, tokens: sight.total };
  const step = stepOfSight(sight);
  if (step === null) return trail;
  const next = followStep(trail ?? newTrail, step, at, policy.toolClasses);
  return sight.kind === "turn-ended" ? endTurn(next, sight.outcome === "success" && !heldBack, policy.loops) : next;
}

/** Repaints were left out by the reader. New lines after a wait that was read off the screen show that it is over; after a limit it takes many. */
function readOutput(sighted: Sighted, sight: Extract<Sight, { kind: "output" }>, context: SightContext): void {
  const { terminal } = sighted;
  if (sight.rows === 0 && sight.novel === 0) return;
  terminal.output = context.mark;
  terminal.novel += sight.novel;
  if (terminal.finishesAt !== null) terminal.finishesAt = context.at + quietAfterMarker;
  if (sighted.activity.kind === "STARTING") sighted.activity = { kind: "RUNNING", since: context.at, open: null };
  if (sight.novel === 0) return;
  // Output alone does not start the progress clock of an agent that never spoke of progress; it does move one that runs.
  if (sighted.facts.progress !== null) noteProgress(sighted, context.mark);
  if (isStanding(sighted.limit))
    return context.limited ? undefined : workOn(sighted, sighted.limit, sight.novel, context);
  if (terminal.wait === "provider") stopWaiting(sighted, context);
  if (terminal.novel - terminal.novelAtMarker > afterword) takeUpAgain(sighted, context);
}

/** Lines that may follow the completion marker: what it cost, how long it took, a prompt. */
const afterword = 4;

/** How long nothing may follow the marker before it is believed: a program that goes on does so within moments. */
const quietAfterMarker = seconds(30);

/**
 * It says that it is done. That is believed when its turn is over, or when nothing follows for a while. A stream always tells the end of a turn: there
 * quiet shows nothing, because an answer that takes long is quiet, too.
 */
function readMarker(sighted: Sighted, context: SightContext): void {
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

function finish(sighted: Sighted, context: Moment): void {
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
  const work = turnClock(record.work.clock, sighted.activity, record.life.bornAt, context);
  const finished = {
    ...record,
    seen: { ...record.seen, terminal: sighted.terminal },
    work: { ...record.work, activity: sighted.activity, clock: work },
  };
  return { ...accepted, record: finished, events: [...accepted.events, ...sighted.events] };
}

function isAtRest({ activity, terminal }: Sighted): boolean {
  if (activity.kind === "RUNNING") return activity.open === null;
  // What it left running may be a server that never ends: its word counts.
  if (activity.kind === "WAITING" && activity.for === wakerOf(terminal)) return true;
  return activity.kind !== "WAITING" || (terminal.asks !== null && restsWith(terminal.asks.what));
}

/** Its input stands there and it does nothing: its turn is over. */
const restsWith = (what: Question): boolean => what === "prompt" || what === "draft";

/** Somebody who quotes the marker goes on talking; somebody who means it does not. */
function takeUpAgain(sighted: Sighted, { at }: SightContext): void {
  const { terminal } = sighted;
  if (terminal.completedAt === null) return;
  terminal.completedAt = null;
  terminal.finishesAt = null;
  if (sighted.activity.kind === "FINISHED") sighted.activity = { kind: "RUNNING", since: at, open: null };
}

/** It wrote on for long enough: the limit it ran into is behind it. */
export const hasOutlivedLimit = ({ contextLimitAt, output }: TerminalFacts, policy: Policy): boolean =>
  contextLimitAt !== null && output.worked - contextLimitAt.worked >= policy.terminal.completion / 2;

/** Lines that keep coming show that it is at work again. */
function workOn(sighted: Sighted, limit: Limit, novel: number, context: SightContext): void {
  const busy = sighted.terminal.tree?.busyAt === context.at;
  sighted.limit = countLines(limit, novel, busy, context.at);
  if (!isWorkedOn(sighted.limit, context.at)) return;
  endLimit(sighted, context);
  stopWaiting(sighted, context);
}

/** The model answers again, which is the only proof that a limit is over before its time. */
function endLimit(sighted: Sighted, { agentId, at }: Moment): void {
  const answered = answeredAfter(sighted.limit, at);
  if (answered === null) return;
  sighted.limit = answered;
  sighted.events.push(limitResumed(agentId, answered, "went-on", at));
}

/** Told once for as long as it stands, and once more when its reset becomes known: the eye that is first may not know it. */
function readRateLimit(sighted: Sighted, sight: Extract<Sight, { kind: "rate-limited" }>, context: SightContext): void {
  const { at, agentId, policy } = context;
  const before = sighted.limit;
  const resetsInMs = sight.resetsInMs === null ? null : Math.max(0, sight.resetsInMs - context.late);
  const met = meetLimit(before, { ...sight, resetsInMs }, at, policy);
  const until = met.by === "stream" ? met.until : Math.min(met.until, wordsCountUntil(sighted.terminal, context));
  if (until <= at) return;
  sighted.limit = { ...met, until };
  sighted.terminal.putOff = { novel: sighted.terminal.novel };
  waitForProvider(sighted, until, met.by, at);
  const isNew = met.since === at && before?.since !== at;
  // Whoever runs into the next one went on after the last, of which a person was told.
  if (isNew && sighted.terminal.asks?.what === "limit") endQuestion(sighted, context);
  const isSharper = before?.since === met.since && !before.named && met.named;
  if (isNew || isSharper) sighted.events.push(limitReached(agentId, met, resetsInMs));
}

/** A program that is put off for so long says by when it tries again: that is a limit with its reset. Less is a matter of its own. */
const retryIsLimit = minutes(1);

function readRetry(sighted: Sighted, sight: Extract<Sight, { kind: "retries" }>, context: SightContext): void {
  const { inMs, status, attempt, cause = null } = sight;
  sighted.terminal.retry = { attempt, status, cause };
  const what = status === 429 ? "rate" : status === 529 ? "overloaded" : null;
  if (what === null || inMs < retryIsLimit) return waitForProvider(sighted, context.at + inMs, "stream", context.at);
  const limit = { kind: "rate-limited", pattern: `api ${status}`, resetsInMs: inMs, by: "stream", what } as const;
  readRateLimit(sighted, limit, context);
}

/** Anybody can print that they wait. Repeating it makes the same wait no longer; only somebody who wrote on in between, or told of work, has begun another. */
function wordsCountUntil(terminal: Changing<TerminalFacts>, { at, policy }: SightContext): MonoMs {
  const { textWait, novel } = terminal;
  const since = textWait !== null && novel - textWait.novel <= afterword ? textWait.since : at;
  terminal.textWait = { since, novel };
  return since + policy.terminal.maxTextWait;
}

function waitForProvider(sighted: Sighted, until: MonoMs, by: "text" | "stream", at: MonoMs): void {
  const { activity, terminal } = sighted;
  if (activity.kind === "FINISHED") return;
  const same = activity.kind === "WAITING" && activity.for === "provider";
  const ends = same && activity.until !== null ? Math.max(activity.until, until) : until;
  if (!same || ends === until) terminal.waitBy = by;
  terminal.wait = "provider";
  sighted.activity = { kind: "WAITING", since: same ? activity.since : at, for: "provider", until: ends };
}

/** The provider answers again. A question that stood there all the while still stands. */
function stopWaiting(sighted: Sighted, context: SightContext): void {
  const { terminal } = sighted;
  const { asks } = terminal;
  if (asks === null || asks.what === "limit") return goOn(sighted, lastTool(terminal, context.at), context);
  const waker = restsWith(asks.what) ? wakerOf(terminal) : null;
  if (waker !== null) return awaitWaker(sighted, waker, context.at);
  sighted.events.push(...tellOfQuestion(context.agentId, asks));
  terminal.asks = { what: asks.what, since: asks.since };
  terminal.wait = "input";
  sighted.activity = { kind: "WAITING", since: asks.since, for: "input", until: null };
}

/** Told at once, and once for as long as it stands. */
function readQuestion(sighted: Sighted, sight: Extract<Sight, { kind: "asks" }>, context: SightContext): void {
  const { terminal, activity } = sighted;
  const { agentId, at, mark } = context;
  const { what, pattern } = sight;
  const rests = restsWith(what);
  // Whoever has finished is at its prompt for good.
  if (rests && activity.kind === "FINISHED") return;
  if (rests && terminal.completedAt !== null) return finish(sighted, context);
  // A program whose account was refused stands at its prompt, too, and what it needs is not to be told what is next.
  if (rests && needsAccount(terminal)) return;
  if (!rests) takeUpAgain(sighted, context);
  if (!rests) askedAllAlong(sighted, what);
  // Its screen showed what it had left running, and does not any more: that was ended by somebody, and wakes nobody.
  if (rests && terminal.asks?.wokenBy !== undefined && sight.wokenBy === undefined) terminal.wokenBy = null;
  const waker = rests ? (terminal.wokenBy ?? sight.wokenBy ?? null) : null;
  // At its limit there is nothing to tell it: that it stands at its prompt is told when the limit is over.
  const isPutOff = isStanding(sighted.limit) && !sighted.limit.told;
  const isSame = terminal.asks?.what === what;
  const wasTold = isSame && terminal.asks?.untold !== true;
  const untold = rests && !wasTold && (isPutOff || waker !== null);
  terminal.asks = {
    what,
    since: isSame ? (terminal.asks?.since ?? at) : at,
    ...(untold ? { untold } : {}),
    ...(sight.wokenBy === undefined ? {} : { wokenBy: sight.wokenBy }),
  };
  if (!untold && !wasTold) sighted.events.push({ type: "AGENT_NEEDS_YOU", payload: { agentId, what, pattern } });
  // Put off by its provider it stands at its prompt as well, and its turn has not ended.
  if (rests && activity.kind === "WAITING" && activity.for === "provider" && (activity.until ?? 0) > at) return;
  // So it does while it waits to be woken.
  if (waker !== null) return awaitWaker(sighted, waker, at);
  terminal.turnEndedAt = what === "prompt" ? (terminal.turnEndedAt ?? mark) : null;
  terminal.wait = "input";
  sighted.activity = { kind: "WAITING", since: terminal.asks.since, for: "input", until: null };
}

/** Work goes on behind what it asks: nobody has answered, so nobody is told that somebody did. */
function askedAllAlong({ terminal, answered, events }: Sighted, what: Question): void {
  if (terminal.asks !== null || answered?.asks.what !== what) return;
  terminal.asks = answered.asks;
  if (answered.told !== null) events.splice(events.indexOf(answered.told), 1);
}

function stopAsking(sighted: Sighted, context: SightContext): void {
  endQuestion(sighted, context);
  // Whatever is asked after this is another question.
  sighted.answered = undefined;
  if (sighted.terminal.wait === "input") goOn(sighted, lastTool(sighted.terminal, context.at), context);
}

function endQuestion(sighted: Sighted, { agentId, at }: Moment): void {
  const { terminal, events } = sighted;
  if (terminal.asks === null) return;
  const told = terminal.asks.untold === true ? null : needsYouNoMore(agentId, terminal.asks.since, at);
  if (told !== null) events.push(told);
  sighted.answered = { asks: terminal.asks, told };
  if (terminal.asks.what === "prompt") terminal.turnEndedAt = null;
  terminal.asks = null;
}

/** What nobody was called for while it waited for its limit. */
export const tellOfQuestion = (
  agentId: string,
  { what, untold }: NonNullable<TerminalFacts["asks"]>,
): readonly RouseEvent[] =>
  untold === true ? [{ type: "AGENT_NEEDS_YOU", payload: { agentId, what, pattern: "its limit is over" } }] : [];

export const needsYouNoMore = (agentId: string, since: MonoMs, at: MonoMs): RouseEvent => ({
  type: "AGENT_NEEDS_YOU_NO_MORE",
  payload: { agentId, waitedSeconds: Math.max(0, Math.round((at - since) / 1000)) },
});

type Open = Extract<Activity, { kind: "RUNNING" }>["open"];

/** Work goes on. What a beat announced (idle, a wait of its own) is left to the next beat, unless the terminal shows a tool or a model at work. */
function goOn(sighted: Sighted, open: Open, context: SightContext): void {
  const { activity, terminal } = sighted;
  if (activity.kind === "FINISHED") return;
  const readOffTerminal = terminal.wait !== null || tellsSteps(terminal) || activity.kind === "STARTING";
  if (!readOffTerminal) return;
  terminal.wait = null;
  endQuestion(sighted, context);
  if (terminal.wokenBy != null) return awaitWaker(sighted, terminal.wokenBy, context.at);
  sighted.activity = { kind: "RUNNING", since: activity.kind === "RUNNING" ? activity.since : context.at, open };
}

function beginTurn(terminal: Sighted["terminal"]): void {
  goOnWithTurn(terminal);
  terminal.wokenBy = null;
}

/** Its last words may be told after the end of their turn, by another eye: they do not wake it. */
function goOnWithTurn(terminal: Sighted["terminal"]): void {
  terminal.turnEndedAt = null;
  terminal.failedTurn = null;
}

function readSaid(sighted: Sighted, digest: string, context: SightContext): void {
  const { terminal } = sighted;
  if (digest !== terminal.lastSaid) noteFact(sighted, context.mark);
  terminal.lastSaid = digest;
  terminal.putOff = null;
  goOnWithTurn(terminal);
  endLimit(sighted, context);
  takeUpAgain(sighted, context);
  if (terminal.tools.length === 0) goOn(sighted, null, context);
}

function startTool(sighted: Sighted, sight: Extract<Sight, { kind: "tool-started" }>, context: SightContext): void {
  const { terminal, facts } = sighted;
  const { id, name, timeoutSeconds } = sight;
  terminal.tools = [
    ...terminal.tools.slice(1 - mostTools),
    { id, name, timeoutSeconds, at: context.at - context.late },
  ];
  terminal.putOff = null;
  beginTurn(terminal);
  facts.toolCallCount = (facts.toolCallCount ?? 0) + 1;
  facts.toolCall = context.mark;
  facts.progress ??= context.mark;
  facts.progressMoves = true;
  endLimit(sighted, context);
  takeUpAgain(sighted, context);
  goOn(sighted, openTool(name, timeoutSeconds, context.at), context);
}

const openTool = (name: string, timeoutSeconds: number | null, since: MonoMs): Open => ({
  kind: "tool",
  name,
  since,
  ...(timeoutSeconds === null ? {} : { timeoutSeconds }),
});

/** The tool that runs, from now on: what came before was another's time, or was spent waiting. */
function lastTool({ tools }: TerminalFacts, at: MonoMs): Open {
  const last = tools[tools.length - 1];
  return last === undefined ? null : openTool(last.name, last.timeoutSeconds, at);
}

/** A result is a fact of work. With the last one in, it is the model's turn. */
function endTool(sighted: Sighted, sight: Extract<Sight, { kind: "tool-ended" }>, context: SightContext): void {
  const { terminal, facts } = sighted;
  terminal.tools = terminal.tools.filter(({ id }) => id !== sight.id);
  terminal.putOff = null;
  facts.outcomes = addOutcome(facts.outcomes, context.at, 1, sight.failed ? 1 : 0);
  if (sight.failed) facts.errorCount = (facts.errorCount ?? 0) + 1;
  noteFact(sighted, context.mark);
  goOn(sighted, lastTool(terminal, context.at) ?? { kind: "model", since: context.at }, context);
}

/** A new fact in a stream is to it what a new line is to a screen. */
function noteFact(sighted: Sighted, mark: Mark): void {
  sighted.terminal.novel += 1;
  noteProgress(sighted, mark);
}

function noteProgress(sighted: Sighted, mark: Mark): void {
  const { facts, terminal } = sighted;
  facts.progressMoves = facts.progressMoves || facts.progress !== null;
  facts.progress = mark;
  terminal.tokensAtProgress = facts.tokenCount;
}

function addError(
  terminal: TerminalFacts,
  { digest, text }: Extract<Sight, { kind: "error" }>,
  at: MonoMs,
  window: number,
): readonly ErrorClass[] {
  const recent = terminal.errors
    .map((known) => ({ ...known, seen: known.seen.filter((one) => one.at > at - window) }))
    .filter((known) => known.seen.length > 0);
  const known = recent.find((one) => one.digest === digest);
  const last = known?.seen[known.seen.length - 1];
  if (known !== undefined && last !== undefined && at - last.at < sameError) return recent;
  const seen = [...(known?.seen ?? []).slice(1 - mostSeen), { at, novel: terminal.novel }];
  const others = recent.filter((one) => one.digest !== digest).slice(1 - mostErrorClasses);
  return [...others, { digest, text, seen }];
}
