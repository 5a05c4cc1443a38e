import { BreakerOpenError, isBrokenOff } from "../../guard/breaker.ts";
import { fetchWithRetry, RetryAfterError } from "../../guard/retry.ts";
import type { Agent } from "../agent-api.ts";
import type { Facts } from "../gather-facts.ts";
import { type OwnBreakers, targetOf } from "./own-breakers.ts";

interface FetchParts {
  readonly facts: Facts;
  readonly breakers: OwnBreakers;
  readonly wait: (what: "provider", until: number) => () => void;
  /** Open until the returned function is called. */
  readonly open: (kind: "model", name: string) => () => void;
  /** Aborted by the caller, or when the agent is to stop. */
  readonly untilStop: (own: AbortSignal | undefined) => {
    readonly signal: AbortSignal | undefined;
    readonly release: () => void;
  };
}

/** `fetch` behind the breaker of its host: an answer that asks for patience is waited for, and told as a wait. */
export async function guardedFetch(
  { facts, breakers, wait, open, untilStop }: FetchParts,
  ...[input, init]: Parameters<Agent["fetch"]>
): Promise<Response> {
  const url = typeof input === "object" && "url" in input ? input.url : String(input);
  const host = URL.canParse(url) ? new URL(url).host : "unknown";
  const isRequest = typeof Request !== "undefined" && input instanceof Request;
  const { signal, release } = untilStop(init?.signal ?? (isRequest ? input.signal : null) ?? undefined);
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
    const isRetryable = (error: unknown): boolean => error instanceof RetryAfterError;
    const patient = fetchWithRetry({ isRetryable, onRetry, ...(signal === undefined ? {} : { signal }) }, once);
    return await patient(input, init);
  } catch (error) {
    if (!isBrokenOff(signal) && !(error instanceof BreakerOpenError)) facts.failed();
    throw error;
  } finally {
    release();
    endWait();
    close();
  }
}
