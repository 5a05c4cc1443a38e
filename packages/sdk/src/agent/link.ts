import type { Fault } from "@rouse/contract";
import { readRetryAfter } from "../guard/retry-after.ts";
import type { Line } from "../open-line.ts";
import { type Answer, type Call, faultOf, isProblem, type Send } from "../send.ts";
import type { Connection } from "./agent-api.ts";

/** A call whose answer is known by its shape: whatever else answers there is no Rouse. */
export interface LinkCall extends Call {
  understands(body: unknown): boolean;
}

/** `refused`: Rouse answered no. `later`: nobody answered, or not now; `slow` where only a person can change that. */
export type Outcome =
  | { readonly kind: "answered"; readonly body: unknown; readonly status: number }
  | { readonly kind: "refused"; readonly fault: Fault; readonly status: number }
  | { readonly kind: "later"; readonly waitMs: number; readonly slow: boolean };

/** Another process speaks for the agent since: what this one does no longer counts, and is kept nowhere. */
export class ReplacedError extends Error {
  override readonly name = "ReplacedError";
}

export interface LinkParts {
  /** Asked anew after every failure: token and address may have changed. */
  readonly find: () => Promise<Line | string>;
  readonly send: Promise<Send>;
  readonly onWarning: (text: string) => void;
}

/** So many failures in a row are told where Rouse was there before: it may just be restarting. */
const toldAfter = 3;

export type Link = ReturnType<typeof openLink>;

/** The one connection that beats, steps and checkpoints share, and what is known of it. */
export function openLink({ find, send: sending, onWarning }: LinkParts) {
  let line: Line | null = null;
  let send: Send | null = null;
  let state: Connection["state"] = "connecting";
  let problem: string | null = null;
  let lastAnswerAt: Date | null = null;
  let failures = 0;
  /** Why Rouse takes no beats: another question that it answers does not change that. */
  let beatsRefused: string | null = null;
  let isAnswering = true;
  const counts = { retries: 0, dropped: 0 };
  const waiting: (() => number)[] = [];
  const troubled = new Set<() => unknown>();
  const glad = new Set<() => void>();
  const warned = new Set<string>();

  function warnOnce(kind: string, text: string): void {
    if (warned.has(kind)) return;
    warned.add(kind);
    onWarning(text);
  }

  const isOver = (): boolean => state === "closed" || state === "replaced";

  function become(next: Connection["state"], why: string | null): void {
    if (isOver()) return;
    state = next;
    problem = why;
    for (const tell of next === "connected" ? glad : troubled) tell();
  }

  const later = (slow: boolean, waitMs = 0): Outcome => ({ kind: "later", waitMs, slow });

  function refuseBeats(why: string): Outcome {
    beatsRefused = why;
    return refuse(why);
  }

  /** Only a person can change this: it is said once, and tried again now and then. */
  function refuse(why: string): Outcome {
    become("refused", why);
    warnOnce(
      `refused: ${why}`,
      `Rouse does not watch this agent: ${why}. The agent works on; it is tried again now and then.`,
    );
    return later(true);
  }

  function unanswered(why: string): Outcome {
    isAnswering = false;
    return refuse(why);
  }

  function missed(why: string, waitMs = 0): Outcome {
    failures += 1;
    isAnswering = false;
    // It may have been started again elsewhere.
    line = null;
    become("retrying", why);
    if (lastAnswerAt === null || failures >= toldAfter)
      warnOnce(
        "unreachable",
        `Rouse cannot be reached: ${why}. The agent works on, and is heard of again when Rouse is back.`,
      );
    return later(false, waitMs);
  }

  async function exchange(call: LinkCall): Promise<Outcome> {
    try {
      const found = line ?? (await find());
      if (typeof found === "string") return unanswered(found);
      line = found;
      return await ask(found, call);
    } catch (error) {
      return missed(error instanceof Error ? error.message : String(error));
    }
  }

  async function ask(at: Line, call: LinkCall): Promise<Outcome> {
    send ??= await sending;
    const answer = await send(at, call);
    const { status, body } = answer;
    if (call.understands(body)) return heard({ kind: "answered", body, status });
    const waitMs = readRetryAfter(answer.retryAfter) ?? 0;
    if (!isProblem(body)) {
      if (status === 429 || status >= 500) return missed(`${at.base} answers ${status}`, waitMs);
      return unanswered(faultOf(at, answer).message);
    }
    const fault = faultOf(at, answer);
    if (status === 401) {
      line = null;
      return unanswered(`it refuses the token (${fault.message})`);
    }
    if (status === 429 || status >= 500 || fault.retryable) return missed(fault.message, waitMs);
    return heard({ kind: "refused", fault, status });
  }

  function heard<O extends Outcome>(outcome: O): O {
    failures = 0;
    isAnswering = true;
    lastAnswerAt = new Date();
    if (beatsRefused === null) become("connected", null);
    else if (!isOver()) [state, problem] = ["refused", beatsRefused];
    return outcome;
  }

  return {
    exchange,
    /** Asked in passing: whatever comes of it says nothing of the connection. */
    async aside(call: Call): Promise<Answer | null> {
      const found = line ?? (await find());
      send ??= await sending;
      return typeof found === "string" ? null : send(found, call);
    },
    warnOnce,
    refuseBeats,
    /** A beat was taken. */
    takeBeats(): void {
      beatsRefused = null;
      become("connected", null);
    },
    /** The last that was asked was answered, or nothing was asked yet. */
    isAnswering: (): boolean => isAnswering,
    isOver,
    tellMistake: (error: unknown): void =>
      warnOnce("mistake", `an answer could not be understood: ${error instanceof Error ? error.message : error}`),
    countRetry: (): void => {
      counts.retries += 1;
    },
    countDropped: (events: number): void => {
      counts.dropped += events;
    },
    isReplaced: (): boolean => state === "replaced",
    /** Resolves when the next try is refused, too. */
    untilRefused: (): Promise<void> => new Promise((resolve) => troubled.add(() => state === "refused" && resolve())),
    /** Told whenever it turns out that nothing can be sent now, or ever. */
    onTrouble: (tell: () => void): void => void troubled.add(tell),
    /** Told of each answer. */
    onAnswer: (tell: () => void): void => void glad.add(tell),
    /** Adds what waits for an answer to what `connection()` tells. */
    countWaiting: (count: () => number): void => void waiting.push(count),
    replace(why: string): void {
      if (isOver()) return;
      become("replaced", why);
      warnOnce("replaced", why);
    },
    close: (): void => become("closed", null),
    note: (why: string): void => {
      problem = why;
    },
    connection: (): Connection => ({
      ...counts,
      state,
      waiting: waiting.reduce((sum, count) => sum + count(), 0),
      lastAnswerAt,
      problem,
    }),
  };
}

export const faultIn = (outcome: Outcome): Fault | null => (outcome.kind === "refused" ? outcome.fault : null);
