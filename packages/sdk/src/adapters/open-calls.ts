import type { Agent, ToolOptions } from "../agent/agent-api.ts";
import { BreakerOpenError } from "../guard/breaker.ts";
import { readRetryAfter } from "../guard/retry-after.ts";

/** A call whose beginning and end are told apart, as frameworks tell of them. Only the first end counts. */
export interface OpenCall {
  end(value?: unknown): void;
  fail(error: unknown): void;
  /** It never ran, or was broken off: neither for nor against what it called. */
  cancel(): void;
}

type Begin = (call: () => Promise<unknown>, options: ToolOptions<unknown>) => Promise<unknown>;

/** A provider that refuses for too much use and does not say for how long. */
const unsaidWaitMs = 60_000;

/**
 * Calls of tools and models by a framework: told to the agent, which keeps the breakers. Beginning one rejects with a
 * `BreakerOpenError` and with nothing else: whatever goes wrong with the telling never reaches the framework.
 */
export function openCalls(agent: Agent) {
  let endWait: (() => void) | null = null;
  /** Ends of calls count before the next call begins. */
  let counted: Promise<unknown> = Promise.resolve();

  async function begin(start: Begin, isFailure: ToolOptions<unknown>["isFailure"]): Promise<OpenCall> {
    goOn();
    await counted;
    return new Promise((opened, refused) => {
      const broken = new AbortController();
      const call = () =>
        new Promise<unknown>((resolve, reject) => {
          const ending = (settle: () => void): void => {
            settle();
            counted = Promise.allSettled([counted, over]).then(() => undefined);
          };
          const cancel = (): void =>
            ending(() => {
              broken.abort();
              reject(broken.signal.reason);
            });
          const fail = (error: unknown): void => (isAbort(error) ? cancel() : ending(() => reject(error)));
          opened({ end: (value) => ending(() => resolve(value)), fail, cancel });
        });
      const over = start(call, {
        signal: broken.signal,
        fallback: refuse,
        ...(isFailure === undefined ? {} : { isFailure }),
      });
      over.catch((error) => (error instanceof BreakerOpenError ? refused(error) : opened(untold)));
    });
  }

  return {
    tool: (name: string, args: unknown, isFailure?: ToolOptions<unknown>["isFailure"]): Promise<OpenCall> =>
      begin((call, options) => agent.tool(name, args, call, options), isFailure),

    /** A request to a model. A limit of its provider is told as a wait, until the next call begins. */
    async model(name: string): Promise<OpenCall> {
      const call = await begin((run, options) => agent.request(name, run, options), isTheirFault);
      return {
        ...call,
        fail(error) {
          const until = readLimit(error);
          if (until !== null) wait(until);
          call.fail(error);
        },
      };
    },

    /** The provider takes nothing until then. When it does not say, what it said before counts. */
    limited(until?: number): void {
      if (until !== undefined || endWait === null) wait(until ?? Date.now() + unsaidWaitMs);
    },
    /** The provider has answered again. */
    answered: goOn,
  };

  function wait(until: number): void {
    goOn();
    endWait = agent.waiting("provider", until);
  }

  function goOn(): void {
    endWait?.();
    endWait = null;
  }
}

/** A framework has no place for what is answered instead. */
const refuse = (refused: BreakerOpenError): never => {
  throw refused;
};

const untold: OpenCall = { end: () => undefined, fail: () => undefined, cancel: () => undefined };

/** Against a model speak its own failures and a broken line, not requests that it refused. */
const isTheirFault: ToolOptions<unknown>["isFailure"] = (outcome) => {
  if (!("error" in outcome)) return false;
  const status = readStatus(outcome.error);
  return status === null || status >= 500 || status === 408;
};

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === "AbortError";

/** Clients of providers agree on little more than that an HTTP error has a status and headers, here or further in. */
function layersOf(error: unknown): Record<string, unknown>[] {
  const layers: Record<string, unknown>[] = [];
  const open = [error];
  try {
    while (open.length > 0 && layers.length < 8) {
      const layer = open.shift();
      if (typeof layer !== "object" || layer === null) continue;
      const { lastError, cause, response, statusCode, status, responseHeaders, headers } = layer as (typeof layers)[0];
      layers.push({ statusCode, status, responseHeaders, headers });
      open.push(lastError, cause, response);
    }
  } catch {
    // A stranger's error may refuse to be read: what was read until then has to do.
  }
  return layers;
}

function readStatus(error: unknown): number | null {
  for (const { statusCode, status } of layersOf(error)) {
    if (typeof statusCode === "number") return statusCode;
    if (typeof status === "number") return status;
  }
  return null;
}

/** Until when a provider wants to be left alone; `null` when it does not. */
function readLimit(error: unknown): number | null {
  const status = readStatus(error);
  const afterMs = readRetryAfter(readHeader(error));
  if (status !== 429 && status !== 529 && (status !== 503 || afterMs === null)) return null;
  return Date.now() + (afterMs ?? unsaidWaitMs);
}

function readHeader(error: unknown): string | null {
  for (const { responseHeaders, headers } of layersOf(error)) {
    const found = responseHeaders ?? headers;
    if (found instanceof Headers) return found.get("retry-after");
    if (typeof found === "object" && found !== null && "retry-after" in found) return String(found["retry-after"]);
  }
  return null;
}
