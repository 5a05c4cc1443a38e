import { createHash } from "node:crypto";
import { type DurationMs, type EpochMs, Fault, hours } from "@rouse/contract";
import type { GroupCommit } from "./group-commit.ts";
import type { Moment } from "./steady-clock.ts";

const keptFor: DurationMs = hours(24);
/** One principal that sends many requests must not push out the answers kept for others. */
const mostOfOne = 200;
/** Of all agents together, and of everybody else together: agents push out no key of people and orchestrators. */
const mostKept = 2000;
/** What the API says of it. */
export const keysKept = `for a day; of each token's holder the last ${mostOfOne} keys are kept, and of all agents together ${mostKept}: beyond that, the oldest of the agent that has the most is forgotten`;

/** A request that is obeyed once, however often it is sent. */
interface KeyedRequest {
  /** Who authenticated: a key counts only for the principal that chose it. */
  readonly principal: string;
  readonly key: string;
  /** The whole request: another request under the same key is refused. */
  readonly request: string;
}

/** Keeps what came of a request in the same commit: call it in the same turn of the event loop. */
export interface Keep {
  /** The progress kept when the same request was sent before and only part of it was taken; `null` without one. */
  readonly before: unknown;
  answer(answer: unknown): void;
  /** Keeps how much of the request is taken so far. */
  progress(progress: unknown): void;
}

export type AnswerOnce = <T>(asked: KeyedRequest, run: (keep: Keep) => Promise<T>) => Promise<T>;

interface Kept {
  readonly principal: string;
  readonly hash: string;
  readonly at: EpochMs;
  readonly isDone: boolean;
  readonly what: unknown;
}

interface OnceParts {
  readonly commits: Pick<GroupCommit, "draft" | "saved" | "down">;
  readonly readClock: () => Pick<Moment, "time">;
  readonly resumption: { readonly marks: Readonly<Record<string, string>> };
}

const folder = "answered/";

/**
 * Answers a request that is sent again under the same key as it was answered first, also after a restart. A refused
 * request changed nothing, so it is tried anew. Answers are kept for a day, and only so many.
 */
export function answerOnce({ commits, readClock, resumption: { marks } }: OnceParts): AnswerOnce {
  const kept = new Map<string, Kept>();
  const running = new Map<string, { readonly hash: string; readonly answer: Promise<unknown> }>();
  const saved = Object.entries(marks).filter(([mark]) => mark.startsWith(folder));
  const restored = saved.map(([mark, value]) => [mark, JSON.parse(value) as Kept] as const);
  for (const [mark, one] of restored.sort(([, a], [, b]) => a.at - b.at)) kept.set(mark, one);

  function forget(mark: string): void {
    kept.delete(mark);
    commits.draft().marks[mark] = null;
  }

  function keep(mark: string, one: Kept): void {
    kept.delete(mark);
    kept.set(mark, one);
    commits.draft().marks[mark] = JSON.stringify(one);
    for (const [oldest, { at }] of kept) {
      if (at > one.at - keptFor) break;
      forget(oldest);
    }
    const surplus = findSurplus(kept, one.principal);
    if (surplus !== null) forget(surplus);
  }

  return async <T>({ principal, key, request }: KeyedRequest, run: (keep: Keep) => Promise<T>): Promise<T> => {
    const mark = `${folder}${sha256(JSON.stringify([principal, key]))}`;
    const hash = sha256(request);
    const { time: at } = readClock();
    const found = kept.get(mark);
    const known = found === undefined || found.at <= at - keptFor ? null : found;
    const same = running.get(mark);
    if ((same ?? known ?? { hash }).hash !== hash)
      throw new Fault("key-reused", "this Idempotency-Key was sent with another request; choose a new one for each");
    if (same !== undefined) return same.answer as Promise<T>;
    if (known?.isDone) {
      // The first answer may still be on its way to the disk.
      await commits.saved();
      return known.what as T;
    }
    const entry = { principal, hash, at };
    const answer = run({
      before: known?.what ?? null,
      answer: (what) => keep(mark, { ...entry, isDone: true, what }),
      progress: (what) => keep(mark, { ...entry, isDone: false, what }),
    });
    running.set(mark, { hash, answer });
    try {
      return await answer;
    } finally {
      running.delete(mark);
    }
  };
}

/** The key to forget after the newest of a principal: its own oldest, or, of too many, the oldest of who has the most. */
function findSurplus(kept: ReadonlyMap<string, Kept>, newest: string): string | null {
  const marks = new Map<string, string[]>();
  let all = 0;
  for (const [mark, { principal }] of kept) {
    if (isAgent(principal) !== isAgent(newest)) continue;
    all += 1;
    const own = marks.get(principal);
    if (own === undefined) marks.set(principal, [mark]);
    else own.push(mark);
  }
  const own = marks.get(newest) ?? [];
  if (own.length <= mostOfOne && all <= mostKept) return null;
  const most = own.length > mostOfOne ? own : [...marks.values()].reduce((a, b) => (b.length > a.length ? b : a));
  return most[0] ?? null;
}

const isAgent = (principal: string): boolean => principal.startsWith("agent:");

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
