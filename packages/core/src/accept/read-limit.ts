import {
  type DurationMs,
  type ExitStatus,
  type LimitKind,
  type MonoMs,
  minutes,
  type Policy,
  type RouseEvent,
  type Sight,
  seconds,
} from "@rouse/contract";
import type { Activity, Draft } from "../facts.ts";
import { isKilled, isStanding } from "../limit.ts";
import type { AgentRecord } from "../record.ts";
import type { Limit, TerminalFacts } from "../terminal-facts.ts";
import {
  afterword,
  awaitWaker,
  endQuestion,
  isAtInput,
  lastTool,
  type Moment,
  resumeRunning,
  type SightContext,
  type Sighted,
  tellOfQuestion,
  wakerOf,
} from "./sighted.ts";

type LimitSight = Extract<Sight, { kind: "rate-limited" }>;

/** An agent that runs into a limit this soon after the last one has not got past that. */
const relapse: DurationMs = minutes(30);
/** Margin for a reset that is named to the second. */
const exactMargin: DurationMs = seconds(5);

/**
 * The limit after one more sight of it. While it stands, a sight without a reset adds nothing, and text adds nothing to
 * a field.
 */
function meetLimit(before: Limit | null, sight: LimitSight, at: MonoMs, policy: Policy): Limit {
  const { pattern, resetsInMs, by = "text", continues = false } = sight;
  const named = resetsInMs !== null;
  const standing = isStanding(before) && at < before.until && !isAnother(before, resetsInMs, at) ? before : null;
  const attempts = standing?.attempts ?? attemptsAfter(before, at);
  const fresh: Limit = {
    what: sight.what ?? kindOf(pattern),
    pattern,
    by,
    since: at,
    until: at + (resetsInMs === null ? backoff(attempts, policy) : resetsInMs + marginOf(sight, policy)),
    ...(resetsInMs === null ? {} : { resetsAt: at + resetsInMs, toMinute: (sight.withinMs ?? 0) > 0 }),
    named,
    continues,
    attempts,
    lines: { count: 0, from: at, at, busy: 0 },
    told: false,
    resumedAt: null,
  };
  if (standing === null) return fresh;
  const known = { ...standing, continues: standing.continues || continues, lines: fresh.lines };
  if (!named || (standing.named && standing.by === "stream" && by === "text")) return known;
  const isSharper = !standing.named || (standing.by === "text" && by === "stream") || namesTheSecond(fresh, standing);
  const { until, resetsAt, toMinute } =
    isSharper || (fresh.until > standing.until && !namesTheSecond(standing, fresh)) ? fresh : standing;
  return {
    ...known,
    named,
    by,
    until,
    ...(resetsAt === undefined ? {} : { resetsAt }),
    ...(toMinute === undefined ? {} : { toMinute }),
    what: isSharper ? fresh.what : known.what,
    pattern: isSharper ? pattern : known.pattern,
  };
}

/** The named reset has come and a later one is named: the agent ran into the next limit, or into the same again. */
const isAnother = (before: Limit, resetsInMs: DurationMs | null, at: MonoMs): boolean =>
  resetsInMs !== null && isLifted(before, at) && at + resetsInMs > before.until;

const backoff = (attempts: number, policy: Policy): DurationMs =>
  Math.min(policy.terminal.rateLimitBackoff * 2 ** Math.min(attempts, 20), policy.longestWait.provider);

/**
 * The program was asked before its restart and says that the limit stands: one more attempt failed. A very long answer
 * is not believed: the program is asked again after `maxTextWait`, which is no attempt. A person is told when the wait
 * is longer than the policy's longest.
 */
export function limitStillStands(before: Limit, resetsInMs: DurationMs | null, at: MonoMs, policy: Policy): Limit {
  const { putOffFor: _, resetsAt: __, toMinute: ___, ...limit } = before;
  const isBelieved = resetsInMs === null || resetsInMs <= policy.terminal.maxTextWait;
  const attempts = isBelieved ? limit.attempts + 1 : limit.attempts;
  const named = resetsInMs !== null && isBelieved;
  const wait = named ? resetsInMs + exactMargin : isBelieved ? backoff(attempts, policy) : policy.terminal.maxTextWait;
  const isLong = resetsInMs !== null && resetsInMs > policy.longestWait.provider;
  return {
    ...limit,
    ...{ pattern: "asked", by: "stream", until: at + wait, named, attempts, told: false, resumedAt: null },
    ...(named ? { resetsAt: at + resetsInMs } : {}),
    ...(isLong ? { putOffFor: resetsInMs } : {}),
  };
}

/** Both name the same reset, `other` only to the minute. */
const namesTheSecond = (exact: Limit, other: Limit): boolean =>
  exact.toMinute !== true &&
  other.toMinute === true &&
  exact.resetsAt !== undefined &&
  other.resetsAt !== undefined &&
  Math.abs(exact.resetsAt - other.resetsAt) <= minutes(1);

/** A limit that is met again soon after its end was not over. */
function attemptsAfter(before: Limit | null, at: MonoMs): number {
  if (before === null) return 0;
  return at - (before.resumedAt ?? before.until) < relapse ? before.attempts + 1 : 0;
}

/** The kind by the pattern's name, where the reader does not tell it. */
function kindOf(pattern: string): LimitKind {
  if (/overloaded|capacity|529/i.test(pattern)) return "overloaded";
  return /usage|quota|window|limit-hit|limit-continues|rate_limit_event/i.test(pattern) ? "usage" : "rate";
}

/** Work that was under way when the limit came is still told this long after it. */
const settles: DurationMs = seconds(10);

/** The model answers, so the limit is over, whatever was announced. `null`: too early to tell. */
export const answeredAfter = (limit: Limit | null, at: MonoMs): Limit | null =>
  isStanding(limit) && at - limit.since > settles ? { ...limit, resumedAt: at } : null;

/**
 * A life that began below a limit counts a step or two before it asks the model, which alone shows whether the limit
 * stands.
 */
const firstAsks: DurationMs = minutes(1);

export const isBarelyBorn = ({ seen: { limit }, life: { bornAt } }: AgentRecord, now: MonoMs): boolean =>
  isStanding(limit) && limit.since < bornAt && now - bornAt <= firstAsks;

const oneMoment: DurationMs = seconds(5);
const linesOfMoment = 4;
const linesCountFor: DurationMs = minutes(2);
/** After the wait is over, slow work counts as well: so many moments with new lines while its processes work. */
const momentsOfWork = 3;
const linesOfWork = 20;
const linesThatMove = 5;

/**
 * Counts new lines on a screen. Programs draw tips and footers while they wait, so only lines that keep coming show
 * work: a few of each moment count. Once the reset has surely come, a handful is enough.
 */
function countLines(limit: Limit, novel: number, busy: boolean, at: MonoMs): Limit {
  const { lines } = limit;
  const lifted = isSurelyLifted(limit, at);
  if (!lifted && (at - limit.since <= settles || at - lines.at < oneMoment)) return limit;
  const isOld = lifted ? !isSurelyLifted(limit, lines.at) : at - lines.from > linesCountFor;
  const { count, from } = isOld ? { count: 0, from: at } : lines;
  const counted = count + (lifted ? novel : Math.min(novel, linesOfMoment));
  return { ...limit, lines: { count: counted, from, at, busy: lines.busy + (busy && at >= limit.until ? 1 : 0) } };
}

const isWorkedOn = (limit: Limit, at: MonoMs): boolean =>
  limit.lines.busy >= momentsOfWork || limit.lines.count >= (isSurelyLifted(limit, at) ? linesThatMove : linesOfWork);

/** The named reset has come, margin or not. Without a named reset nobody knows. */
const isLifted = ({ until, named, resetsAt = until }: Limit, at: MonoMs): boolean => named && at >= resetsAt;

/** The same, where a reset that is named to the minute counts from the end of that minute. */
const isSurelyLifted = (limit: Limit, at: MonoMs): boolean =>
  isLifted(limit, at) && (limit.toMinute !== true || at >= limit.until);

/**
 * A reset named to the minute is waited for to the end of that minute. Other text on a screen gets the policy's margin.
 */
function marginOf({ by = "text", withinMs }: LimitSight, policy: Policy): DurationMs {
  if (withinMs === undefined) return by === "stream" ? exactMargin : policy.waitMargin;
  return Math.max(withinMs, by === "text" && withinMs > 0 ? policy.waitMargin : exactMargin);
}

/** An agent waits for its provider until its limit is over or the model answers, whatever else is drawn or told. */
export function waitOutLimit(seen: Sighted, before: Activity, at: MonoMs): void {
  const { limit, terminal } = seen;
  // Sights from before the limit's end may arrive after a person was told.
  if (!isStanding(limit) || limit.told || at >= limit.until || seen.activity.kind === "FINISHED") return;
  terminal.wait = "provider";
  terminal.waitBy = limit.by;
  seen.activity = waitFor(limit, before);
}

/**
 * The agent gives up, and the last word of its program was a refusal by the provider: it ran into its limit once more
 * and did not crash, even if we no longer waited. An unknown program's text does not count. `before`: its facts before
 * this report.
 */
export function endAtRefusal(
  sighted: Sighted,
  exit: ExitStatus,
  before: TerminalFacts,
  { agentId, at, policy }: SightContext,
): void {
  const { terminal, limit, activity } = sighted;
  const { putOff, family } = terminal;
  if (putOff == null || limit === null || limit.resumedAt === null || activity.kind === "FINISHED") return;
  if (limit.by === "text" && family === "generic") return;
  if (exit.cause !== "by-itself" || exit.code === 0 || isKilled(exit)) return;
  if (before.novel - putOff.novel > afterword) return;
  const { pattern, what, by } = limit;
  sighted.limit = meetLimit(limit, { kind: "rate-limited", pattern, what, by, resetsInMs: null }, at, policy);
  sighted.events.push(limitReached(agentId, sighted.limit, null));
}

/** Keeps the wait that the agent is already in, where it is the same. */
function waitFor({ since, until }: Limit, before: Activity): Activity {
  const same = before.kind === "WAITING" && before.for === "provider" ? before : null;
  return same?.until === until ? same : { kind: "WAITING", since: same?.since ?? since, for: "provider", until };
}

export const limitReached = (agentId: string, limit: Limit, resetsInMs: DurationMs | null): RouseEvent => ({
  type: "LIMIT_REACHED",
  payload: {
    agentId,
    what: limit.what,
    resetsInSeconds: resetsInMs === null ? null : Math.round(resetsInMs / 1000),
    by: limit.by,
    pattern: limit.pattern,
  },
});

type How = Extract<RouseEvent, { type: "LIMIT_RESUMED" }>["payload"]["how"];

export const limitResumed = (agentId: string, { since }: Limit, how: How, now: MonoMs): RouseEvent => ({
  type: "LIMIT_RESUMED",
  payload: { agentId, how, waitedSeconds: Math.max(0, Math.round((now - since) / 1000)) },
});

/** The agent's own beat shows that it went on. */
export const noticeResumed = (
  { agentId, seen: { limit } }: AgentRecord,
  after: Limit | null,
  now: MonoMs,
): readonly RouseEvent[] =>
  isStanding(limit) && !isStanding(after) ? [limitResumed(agentId, limit, "went-on", now)] : [];

/** Lines that keep coming show that the agent is at work again. */
export function noteWorkAtLimit(sighted: Sighted, limit: Limit, novel: number, context: SightContext): void {
  const busy = sighted.terminal.tree?.busyAt === context.at;
  sighted.limit = countLines(limit, novel, busy, context.at);
  if (!isWorkedOn(sighted.limit, context.at)) return;
  endLimit(sighted, context);
  stopWaiting(sighted, context);
}

/** The model's answer is the only proof that a limit is over before its time. */
export function endLimit(sighted: Sighted, { agentId, at }: Moment): void {
  const answered = answeredAfter(sighted.limit, at);
  if (answered === null) return;
  sighted.limit = answered;
  sighted.events.push(limitResumed(agentId, answered, "went-on", at));
}

/** A limit is told once, and once more when its reset becomes known: the first eye to see it may not know that. */
export function readRateLimit(
  sighted: Sighted,
  sight: Extract<Sight, { kind: "rate-limited" }>,
  context: SightContext,
): void {
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
  // An agent that meets the next limit went on after the last one, which a person was told of.
  if (isNew && sighted.terminal.asks?.what === "limit") endQuestion(sighted, context);
  const isSharper = before?.since === met.since && !before.named && met.named;
  if (isNew || isSharper) sighted.events.push(limitReached(agentId, met, resetsInMs));
}

/** A program that is put off for at least this long names a limit and its reset. Shorter waits are plain retries. */
const retryIsLimit = minutes(1);

export function readRetry(sighted: Sighted, sight: Extract<Sight, { kind: "retries" }>, context: SightContext): void {
  const { inMs, status, attempt, cause = null } = sight;
  sighted.terminal.retry = { attempt, status, cause };
  const what = status === 429 ? "rate" : status === 529 ? "overloaded" : null;
  if (what === null || inMs < retryIsLimit) return waitForProvider(sighted, context.at + inMs, "stream", context.at);
  const limit = { kind: "rate-limited", pattern: `api ${status}`, resetsInMs: inMs, by: "stream", what } as const;
  readRateLimit(sighted, limit, context);
}

/**
 * Any text can claim a wait. Repeating it does not prolong the wait; only an agent that wrote on in between begins
 * another.
 */
function wordsCountUntil(terminal: Draft<TerminalFacts>, { at, policy }: SightContext): MonoMs {
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

/** The provider answers again. A question that stood there during the wait still stands. */
export function stopWaiting(sighted: Sighted, context: SightContext): void {
  const { terminal } = sighted;
  const { asks } = terminal;
  if (asks === null || asks.what === "limit") return resumeRunning(sighted, lastTool(terminal, context.at), context);
  const waker = isAtInput(asks.what) ? wakerOf(terminal) : null;
  if (waker !== null) return awaitWaker(sighted, waker, context.at);
  sighted.events.push(...tellOfQuestion(context.agentId, asks));
  terminal.asks = { what: asks.what, since: asks.since };
  terminal.wait = "input";
  sighted.activity = { kind: "WAITING", since: asks.since, for: "input", until: null };
}
