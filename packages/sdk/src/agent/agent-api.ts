import type { AgentAnswer, BreakerRules, RecoveryContext, WaitKind } from "@rouse/contract";
import type { BreakerOptions, CallOptions, CircuitBreaker } from "../guard/breaker.ts";
import type { Fetch } from "../open-line.ts";

/**
 * Everything may be left out: in an agent that Rouse started, `ROUSE_*` in the environment says it, and goes before `id`
 * and `task` here, because its token speaks for these alone.
 */
export interface AgentOptions {
  readonly id?: string;
  readonly type?: string;
  readonly task?: string;
  readonly url?: string;
  readonly token?: string;
  /** A beat every so many milliseconds; 5,000 when not given. */
  readonly beatEveryMs?: number;
  /**
   * Rules of breakers by operation, such as `{ external_api: { failureThreshold: 5 } }`. They go before what the owner
   * of Rouse set.
   */
  readonly breakers?: Readonly<Record<string, Partial<BreakerRules>>>;
  /** Told once of each kind of trouble with Rouse; `console.warn` when not given. Nothing of it is ever thrown. */
  readonly onWarning?: (text: string) => void;
  readonly fetch?: Fetch;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** How the connection to Rouse is. A dead Rouse never disturbs the agent. */
export interface Connection {
  readonly state: "connecting" | "connected" | "retrying" | "refused" | "replaced" | "closed";
  /** Beats, steps and checkpoints that no answer has come for yet. */
  readonly waiting: number;
  /** Given up because too many waited; never a checkpoint. */
  readonly dropped: number;
  /** How often something was sent again because no answer had come. */
  readonly retries: number;
  readonly lastAnswerAt: Date | null;
  /** Why it is not connected, in a sentence. */
  readonly problem: string | null;
}

export interface ToolOptions<T> extends CallOptions {
  /** Declared to Rouse: until it has passed, and a minute more, the silence of this call is no matter. */
  readonly timeoutMs?: number;
  /** Whether what was returned or thrown counts as a failure of the tool; everything thrown does, when not given. */
  readonly isFailure?: BreakerOptions<T>["isFailure"];
  /** Called instead while the tool's breaker lets nothing through. */
  readonly fallback?: BreakerOptions<T>["fallback"];
}

/** Facts in fixed words from Rouse, or from a person. */
export interface Nudge {
  readonly id: string;
  /** `loop`, `reminder`, `hand-off`, `task-taken`, `operator`, … */
  readonly because: string;
  readonly message: string;
  answer(kind: AgentAnswer["kind"], text?: string): void;
}

/** Why the agent is to stop: its process was told to, its task was taken from it, or a later life has begun. */
export interface StopRequest {
  readonly because: "signal" | "task-taken" | "replaced";
  readonly message: string;
}

/** `saved`: on Rouse's disk. `queued`: kept here, in order, until Rouse can take it. */
export interface SavedStep {
  readonly state: "saved" | "queued";
  readonly step: number;
}

export interface StepContext {
  readonly number: number;
  /** The same whenever this step of this task runs again: for whatever must not be done twice. */
  readonly key: string;
  /** This step had begun in an earlier life and was not completed. */
  readonly again: boolean;
}

export interface AgentStep<S, T = S> {
  readonly name: string;
  /** Gets the state that the step before returned, and returns the next. Both are plain JSON. */
  run(state: S, context: StepContext): T | Promise<T>;
}

/** An agent as Rouse sees it, from the inside: what it does, said in passing. */
export interface Agent {
  readonly id: string;
  readonly task: string | null;
  /** Where to go on, when Rouse brought this agent back. */
  readonly recovered: RecoveryContext | null;
  /** Aborted when the agent is to stop. */
  readonly signal: AbortSignal;
  connection(): Connection;
  phase(name: string): void;
  /** Something was achieved; the text changes when more was. */
  progress(text?: string): void;
  /** Used since the last call. */
  tokens(used: number): void;
  /** Share of the context window that is full, 0 to 1. */
  context(fill: number): void;
  /** Until the returned function is called, or until then: a time, its milliseconds, or ISO 8601. */
  waiting(what: WaitKind, until?: Date | number | string): () => void;
  /** No work at present; the next word about work ends it. */
  idle(): void;
  /** A call of a tool: told to Rouse with what came of it (digests only), behind the breakers `tool_execution` and `tool_execution/NAME`. */
  tool<T>(
    name: string,
    args: unknown,
    call: (signal: AbortSignal) => T | Promise<T>,
    options?: ToolOptions<T>,
  ): Promise<T>;
  /** A request to a model or another service, behind the breaker `external_api/NAME`. */
  request<T>(name: string, call: (signal: AbortSignal) => T | Promise<T>, options?: ToolOptions<T>): Promise<T>;
  /** `fetch` with a breaker for each host; waits where a server says so, and Rouse knows that it waits. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Options hold for `tool`, `request` and `fetch` behind the same operation, too; those of a call go before them, and the first that were given before later ones. */
  breaker<T = unknown>(operation: string, options?: Omit<BreakerOptions<T>, "name">): CircuitBreaker<T>;
  /** `step` is completed; `state` is what a successor needs to know. Rejects only for a state that cannot be saved. */
  checkpoint(step: number, state: unknown, name?: string): Promise<SavedStep>;
  /**
   * Runs the steps that are not completed yet, with a checkpoint after each, and returns what the last one returned. Each of up to four may
   * return another kind of state for the next.
   */
  steps<A, B>(list: readonly [AgentStep<A, B>], initial: A): Promise<B>;
  steps<A, B, C>(list: readonly [AgentStep<A, B>, AgentStep<B, C>], initial: A): Promise<C>;
  steps<A, B, C, D>(list: readonly [AgentStep<A, B>, AgentStep<B, C>, AgentStep<C, D>], initial: A): Promise<D>;
  steps<A, B, C, D, E>(
    list: readonly [AgentStep<A, B>, AgentStep<B, C>, AgentStep<C, D>, AgentStep<D, E>],
    initial: A,
  ): Promise<E>;
  steps<S>(list: readonly AgentStep<S>[], initial: S): Promise<S>;
  /** All three return what ends the listening. A string that is returned is the answer. */
  onNudge(hear: (nudge: Nudge) => unknown): () => void;
  onHandoff(hear: (nudge: Nudge) => unknown): () => void;
  onStop(hear: (request: StopRequest) => unknown): () => void;
  /** Says that the work is done, and waits until Rouse knows or cannot be reached. */
  finish(): Promise<void>;
  /** Says that the run failed. */
  fail(error?: unknown): Promise<void>;
  /** Stops beating without a word; what waits is sent first, for two seconds at most. */
  close(): Promise<void>;
}
