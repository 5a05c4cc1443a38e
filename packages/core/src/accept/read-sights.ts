import type { MonoMs, Policy, Question, Sight } from "@rouse/contract";
import type { Mark } from "../facts.ts";
import { isStanding } from "../limit.ts";
import { endTurn } from "../steps/find-loops.ts";
import { followStep } from "../steps/follow-steps.ts";
import { newTrail, type StepTrail } from "../steps/step.ts";
import { isOfProgram, stepOfSight } from "../steps/step-of-sight.ts";
import { type ErrorClass, type TerminalFacts, tellsSteps } from "../terminal-facts.ts";
import { addOutcome } from "./read-beat.ts";
import { finish, quietAfterMarker, readMarker, retractCompletion } from "./read-completion.ts";
import { endLimit, noteWorkAtLimit, readRateLimit, readRetry, stopWaiting } from "./read-limit.ts";
import {
  afterword,
  awaitWaker,
  endQuestion,
  isAtInput,
  lastTool,
  openTool,
  resumeRunning,
  type SightContext,
  type Sighted,
} from "./sighted.ts";

/** Bounds of what is remembered of one terminal. */
const mostErrorClasses = 6;
const mostSeen = 30;
const mostTools = 16;

/** The same error within this time is one event that was printed more than once. */
const sameError = 5000;

/** Reads one sight. Work that it shows counts as it would on a heartbeat; waiting that it shows stops the clocks. */
export function readSight(sighted: Sighted, sight: Sight, context: SightContext): void {
  const { terminal } = sighted;
  const { at, mark } = context;
  // Each sight of a stream is a line of output, and so is each that only a program can tell.
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
      // An agent that keeps failing has not done what it said.
      if (at - (terminal.completedAt ?? at) > quietAfterMarker) retractCompletion(sighted, context);
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
      retractCompletion(sighted, context);
      return resumeRunning(sighted, { kind: "model", since: at }, context);
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
      return resumeRunning(sighted, { kind: "model", since: at }, context);
    case "turn-ended":
      terminal.tools = [];
      if (sight.outcome === "success") {
        terminal.putOff = null;
        endLimit(sighted, context);
      }
      terminal.wokenBy = sight.wokenBy ?? null;
      if (sight.outcome === "success" || !needsAccount(terminal)) resumeRunning(sighted, null, context);
      terminal.turnEndedAt = mark;
      terminal.failedTurn = sight.outcome === "failure" ? sight.reason : null;
      if (terminal.completedAt !== null && sighted.activity.kind !== "FINISHED") finish(sighted, context);
      return;
  }
}

/** The turn failed for an account problem, which stands after the turn too. */
const needsAccount = ({ asks }: TerminalFacts): boolean =>
  asks?.what === "login" || asks?.what === "credits" || asks?.what === "api-key";

/** A program that tells its steps tells every call and result, like an agent that records its steps. */
function followSight(trail: StepTrail | null, sight: Sight, context: SightContext): StepTrail | null {
  const { at, policy, heldBack } = context;
  if (sight.kind === "tokens") return trail === null ? null : { ...trail, tokens: sight.total };
  const step = stepOfSight(sight);
  if (step === null) return trail;
  const next = followStep(trail ?? newTrail, step, at, policy.toolClasses);
  return sight.kind === "turn-ended" ? endTurn(next, sight.outcome === "success" && !heldBack, policy.loops) : next;
}

/** The reader left repaints out. New lines end a wait that was read off the screen; a limit takes many. */
function readOutput(sighted: Sighted, sight: Extract<Sight, { kind: "output" }>, context: SightContext): void {
  const { terminal } = sighted;
  if (sight.rows === 0 && sight.novel === 0) return;
  terminal.output = context.mark;
  terminal.novel += sight.novel;
  if (terminal.finishesAt !== null) terminal.finishesAt = context.at + quietAfterMarker;
  if (sighted.activity.kind === "STARTING") sighted.activity = { kind: "RUNNING", since: context.at, open: null };
  if (sight.novel === 0) return;
  // Output does not start the progress clock of an agent that never spoke of progress, but it moves one that runs.
  if (sighted.facts.progress !== null) noteProgress(sighted, context.mark);
  if (isStanding(sighted.limit))
    return context.limited ? undefined : noteWorkAtLimit(sighted, sighted.limit, sight.novel, context);
  if (terminal.wait === "provider") stopWaiting(sighted, context);
  if (terminal.novel - terminal.novelAtMarker > afterword) retractCompletion(sighted, context);
}

/** The agent wrote on for so long that the context limit is behind it. */
export const hasOutlivedLimit = ({ contextLimitAt, output }: TerminalFacts, policy: Policy): boolean =>
  contextLimitAt !== null && output.worked - contextLimitAt.worked >= policy.terminal.completion / 2;

/** A question is told at once, and once for as long as it stands. */
function readQuestion(sighted: Sighted, sight: Extract<Sight, { kind: "asks" }>, context: SightContext): void {
  const { terminal, activity } = sighted;
  const { agentId, at, mark } = context;
  const { what, pattern } = sight;
  const rests = isAtInput(what);
  // A finished agent stays at its prompt.
  if (rests && activity.kind === "FINISHED") return;
  if (rests && terminal.completedAt !== null) return finish(sighted, context);
  // A program whose account was refused stands at its prompt too, but needs an account and not instructions.
  if (rests && needsAccount(terminal)) return;
  if (!rests) retractCompletion(sighted, context);
  if (!rests) restoreQuestion(sighted, what);
  // The screen no longer shows what the agent left running: somebody ended that, and nothing wakes the agent.
  if (rests && terminal.asks?.wokenBy !== undefined && sight.wokenBy === undefined) terminal.wokenBy = null;
  const waker = rests ? (terminal.wokenBy ?? sight.wokenBy ?? null) : null;
  // At its limit an agent can do nothing: that it stands at its prompt is told when the limit is over.
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
  // An agent that its provider puts off stands at its prompt too, and its turn has not ended.
  if (rests && activity.kind === "WAITING" && activity.for === "provider" && (activity.until ?? 0) > at) return;
  // The same holds for an agent that something will wake.
  if (waker !== null) return awaitWaker(sighted, waker, at);
  terminal.turnEndedAt = what === "prompt" ? (terminal.turnEndedAt ?? mark) : null;
  terminal.wait = "input";
  sighted.activity = { kind: "WAITING", since: terminal.asks.since, for: "input", until: null };
}

/** Work goes on behind the question. Nobody has answered it, so nobody is told that it was answered. */
function restoreQuestion({ terminal, answered, events }: Sighted, what: Question): void {
  if (terminal.asks !== null || answered?.asks.what !== what) return;
  terminal.asks = answered.asks;
  if (answered.told !== null) events.splice(events.indexOf(answered.told), 1);
}

function stopAsking(sighted: Sighted, context: SightContext): void {
  endQuestion(sighted, context);
  // A question after this is another question.
  sighted.answered = undefined;
  if (sighted.terminal.wait === "input") resumeRunning(sighted, lastTool(sighted.terminal, context.at), context);
}

function beginTurn(terminal: Sighted["terminal"]): void {
  forgetTurnEnd(terminal);
  terminal.wokenBy = null;
}

/** Last words may be told after the end of their turn, by another eye; they do not wake the agent. */
function forgetTurnEnd(terminal: Sighted["terminal"]): void {
  terminal.turnEndedAt = null;
  terminal.failedTurn = null;
}

function readSaid(sighted: Sighted, digest: string, context: SightContext): void {
  const { terminal } = sighted;
  if (digest !== terminal.lastSaid) noteFact(sighted, context.mark);
  terminal.lastSaid = digest;
  terminal.putOff = null;
  forgetTurnEnd(terminal);
  endLimit(sighted, context);
  retractCompletion(sighted, context);
  if (terminal.tools.length === 0) resumeRunning(sighted, null, context);
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
  retractCompletion(sighted, context);
  resumeRunning(sighted, openTool(name, timeoutSeconds, context.at), context);
}

/** A result is progress. After the last open tool it is the model's turn. */
function endTool(sighted: Sighted, sight: Extract<Sight, { kind: "tool-ended" }>, context: SightContext): void {
  const { terminal, facts } = sighted;
  terminal.tools = terminal.tools.filter(({ id }) => id !== sight.id);
  terminal.putOff = null;
  facts.outcomes = addOutcome(facts.outcomes, context.at, 1, sight.failed ? 1 : 0);
  if (sight.failed) facts.errorCount = (facts.errorCount ?? 0) + 1;
  noteFact(sighted, context.mark);
  resumeRunning(sighted, lastTool(terminal, context.at) ?? { kind: "model", since: context.at }, context);
}

/** A new fact in a stream counts like a new line on a screen. */
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
