import type { StepEvent, WaitKind } from "@rouse/contract";
import { BreakerOpenError, isBrokenOff } from "../../guard/breaker.ts";
import type { Agent, ToolOptions } from "../agent-api.ts";
import { type Facts, shorten } from "../gather-facts.ts";
import { afterMs } from "../surroundings.ts";
import type { Describing } from "./describe-call.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { type OwnBreakers, targetOf } from "./own-breakers.ts";

/** A call that takes longer is told as open at once. */
const toldAfterMs = 1000;

interface CallSettled<T> {
  readonly failed: boolean;
  /** Broken off, or held back by a breaker. */
  readonly neverRan: boolean;
  readonly error?: unknown;
  readonly value?: T;
}

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
    settled: (end: CallSettled<T>) => void,
  ): Promise<T> {
    const { signal, release } = joinSignals(stopping, options.signal);
    const given = breakers.optionsFor<T>(operations);
    const judge = options.isFailure ?? given.isFailure;
    let failed = false;
    let neverRan = true;
    try {
      options.signal?.throwIfAborted();
      const isFailure: ToolOptions<T>["isFailure"] = (outcome) => {
        failed = "error" in outcome;
        failed = judge?.(outcome) ?? failed;
        return failed;
      };
      const value = await breakers.guard(
        operations,
        () => {
          neverRan = false;
          return call(signal);
        },
        { signal, isFailure, fallback: options.fallback ?? given.fallback },
      );
      settled({ failed, neverRan, value });
      return value;
    } catch (error) {
      // One that was broken off, or that a breaker inside did not let through, failed at nothing.
      settled({ failed, neverRan: neverRan || isBrokenOff(signal) || error instanceof BreakerOpenError, error });
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
    mustBeCall(call);
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
      ({ failed, neverRan, value, ...end }) => {
        close();
        const result = "error" in end ? describeError(end.error) : describe(value);
        if (failed) facts.failed();
        const tokens = facts.tokenCount();
        tell({
          kind: "tool_result",
          ...of,
          failed: failed || neverRan,
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
    mustBeCall(call);
    const close = open("model", name, options.timeoutMs);
    return run([`external_api/${targetOf(name)}`], call, options, ({ failed }) => {
      close();
      if (failed) facts.failed();
    });
  }

  const fetch: Agent["fetch"] = (input, init) => guardedFetch({ facts, breakers, wait, open, untilStop }, input, init);

  /** Whoever asks for something while the agent stops has a reason to. */
  const untilStop = (own: AbortSignal | undefined) =>
    stopping.aborted ? { signal: own, release: () => undefined } : joinSignals(stopping, own);

  return { tool, request, fetch };
}

/** The author's slip, such as forgotten arguments: no failure of the tool. */
function mustBeCall(call: unknown): void {
  if (typeof call !== "function") throw new TypeError("the call of a tool or request is a function");
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
