import type { StepEvent, WaitKind } from "@rouse/contract";
import { BreakerOpenError, isBrokenOff } from "../guard/breaker.ts";
import type { Agent, ToolOptions } from "./agent-api.ts";
import type { Describing } from "./describe-call.ts";
import { type Facts, shorten } from "./gather-facts.ts";
import { type OwnBreakers, targetOf } from "./own-breakers.ts";
import { afterMs } from "./surroundings.ts";

/** A call that takes longer is told as open at once. */
const toldAfterMs = 1000;

interface CallParts {
  readonly facts: Facts;
  readonly breakers: OwnBreakers;
  readonly tell: (event: StepEvent) => void;
  readonly changed: () => void;
  /** Aborted when the agent is to stop. */
  readonly signal: AbortSignal;
  readonly wait: (what: WaitKind, until: number) => () => void;
  readonly describing: Promise<Describing>;
}

/** Calls of tools, models and other services: told to Rouse in passing, and behind breakers. */
export function guardedCalls({ facts, breakers, tell, changed, signal: stopping, wait, describing }: CallParts) {
  let calls = 0;
  // Apart from the beats, and begun at once.
  const retrying = import("../guard/retry.ts");
  retrying.catch(() => undefined);

  /** Open until the returned function is called. */
  function open(kind: "tool" | "model", name: string, timeoutMs?: number): () => void {
    const close = facts.open(kind, name, timeoutMs);
    let isTold = false;
    const cancel = afterMs(toldAfterMs, () => {
      isTold = true;
      changed();
    });
    return () => {
      cancel();
      close();
      if (isTold) changed();
    };
  }

  /** One call behind its breakers. `settled` learns how it ended. */
  async function run<T>(
    operations: readonly string[],
    call: (signal: AbortSignal) => T | Promise<T>,
    options: ToolOptions<T>,
    settled: (end: { readonly failed: boolean; readonly error?: unknown; readonly value?: T }) => void,
  ): Promise<T> {
    const { signal, release } = joinSignals(stopping, options.signal);
    const given = breakers.optionsFor<T>(operations);
    const judge = options.isFailure ?? given.isFailure;
    let begun = false;
    try {
      options.signal?.throwIfAborted();
      begun = true;
      let failed = false;
      const isFailure: ToolOptions<T>["isFailure"] = (outcome) => {
        failed = judge?.(outcome) ?? "error" in outcome;
        return failed;
      };
      const guard = { signal, isFailure, fallback: options.fallback ?? given.fallback };
      const value = await breakers.guard(operations, () => call(signal), guard);
      settled({ failed, value });
      return value;
    } catch (error) {
      settled({ failed: begun && !isBrokenOff(signal), error });
      throw error;
    } finally {
      release();
    }
  }

  async function tool<T>(
    name: string,
    args: unknown,
    call: (signal: AbortSignal) => T | Promise<T>,
    options: ToolOptions<T> = {},
  ): Promise<T> {
    const of = { id: String(++calls), tool: shorten(name, 200) };
    facts.called();
    const close = open("tool", of.tool, options.timeoutMs);
    const { describe, describeError } = await describing;
    const described = describe(args);
    tell({ kind: "tool_call", ...of, ...(described === null ? {} : { args_digest: described.digest }) });
    return run(
      [`tool_execution/${targetOf(of.tool)}`, "tool_execution"],
      call,
      options,
      ({ failed, value, ...end }) => {
        close();
        const result = "error" in end ? describeError(end.error) : describe(value);
        const neverRan = "error" in end && (!failed || end.error instanceof BreakerOpenError);
        if (failed && !neverRan) facts.failed();
        const tokens = facts.tokenCount();
        tell({
          kind: "tool_result",
          ...of,
          failed,
          ...(neverRan ? { cancelled: true } : {}),
          ...(result === null ? {} : { text_digest: result.digest, text_class: result.class }),
          ...(tokens > 0 ? { tokens } : {}),
        });
      },
    );
  }

  async function request<T>(
    name: string,
    call: (signal: AbortSignal) => T | Promise<T>,
    options: ToolOptions<T> = {},
  ): Promise<T> {
    const close = open("model", name, options.timeoutMs);
    return run([`external_api/${targetOf(name)}`], call, options, ({ failed }) => {
      close();
      if (failed) facts.failed();
    });
  }

  const guardedFetch: Agent["fetch"] = async (input, init) => {
    const url = typeof input === "object" && "url" in input ? input.url : String(input);
    const host = URL.canParse(url) ? new URL(url).host : "unknown";
    const isRequest = typeof Request !== "undefined" && input instanceof Request;
    const own = init?.signal ?? (isRequest ? input.signal : null) ?? undefined;
    // Whoever asks for something while the agent stops has a reason to.
    const { signal, release } = stopping.aborted
      ? { signal: own, release: () => undefined }
      : joinSignals(stopping, own);
    const close = open("model", host);
    let endWait: () => void = () => undefined;
    const once: Agent["fetch"] = (again, with_) => {
      endWait();
      const operations = [`external_api/${targetOf(host)}`];
      const { isFailure, fallback } = breakers.optionsFor<Response>(operations);
      return breakers.guard(operations, () => globalThis.fetch(again, with_), {
        signal,
        // A service that asks for patience works.
        isFailure: isFailure ?? ((outcome) => "error" in outcome || outcome.value.status >= 500),
        fallback,
      });
    };
    const onRetry = ({ waitMs }: { readonly waitMs: number }): void => {
      endWait = wait("provider", Date.now() + waitMs);
    };
    try {
      const { fetchWithRetry, RetryAfterError } = await retrying;
      const isRetryable = (error: unknown): boolean => error instanceof RetryAfterError;
      const patient = fetchWithRetry({ isRetryable, onRetry, ...(signal === undefined ? {} : { signal }) }, once);
      return await patient(input, init);
    } catch (error) {
      if (!isBrokenOff(signal)) facts.failed();
      throw error;
    } finally {
      release();
      endWait();
      close();
    }
  };

  return { tool, request, fetch: guardedFetch };
}

/** Aborted with either; `release` leaves nothing behind at a signal that lives as long as the agent. */
function joinSignals(one: AbortSignal, other: AbortSignal | undefined) {
  if (other === undefined) return { signal: one, release: () => undefined };
  const both = new AbortController();
  const pass = (from: AbortSignal) => () => both.abort(from.reason);
  const ends = [one, other].map((from) => [from, pass(from)] as const);
  for (const [from, end] of ends) {
    if (from.aborted) end();
    else from.addEventListener("abort", end, { once: true });
  }
  return {
    signal: both.signal,
    release: () => {
      for (const [from, end] of ends) from.removeEventListener("abort", end);
    },
  };
}
