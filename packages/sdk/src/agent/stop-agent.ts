import type { StopRequest } from "./agent-api.ts";
import { shorten } from "./gather-facts.ts";
import { hostProcess, within } from "./surroundings.ts";

/** As long as Rouse itself waits after SIGTERM, by default. */
const longestStopMs = 10_000;

interface StopParts {
  readonly onWarning: (text: string) => void;
  /** Says what is left to say, for a moment at most. */
  readonly lastWords: () => Promise<unknown>;
}

/** Tells the author's handlers that the agent is to stop, and lets a signal do its work when they are done. */
export function stopAgent({ onWarning, lastWords }: StopParts) {
  const handlers = new Set<(request: StopRequest) => unknown>();
  const abort = new AbortController();
  const host = hostProcess();
  let stopped: StopRequest | null = null;
  let installed = false;

  async function give(request: StopRequest, to: Iterable<(request: StopRequest) => unknown>): Promise<boolean> {
    const outcomes = await Promise.allSettled([...to].map(async (take) => take(request)));
    for (const outcome of outcomes)
      if (outcome.status === "rejected") onWarning(`a handler of onStop failed: ${shorten(outcome.reason, 500)}`);
    return outcomes.length > 0;
  }

  /** Resolves with whether anybody took it, once they are done. */
  function stop(request: StopRequest): Promise<boolean> {
    stopped ??= request;
    const told = give(request, handlers);
    if (!abort.signal.aborted) abort.abort(new Error(`the agent is to stop: ${request.message}`));
    return told;
  }

  function onSigterm(): void {
    const message = "the process was told to end (SIGTERM)";
    void within(longestStopMs, stop({ because: "signal", message })).then(async () => {
      await lastWords();
      uninstall();
      // Whoever else listens decides when the process ends.
      if (host?.listenerCount("SIGTERM") === 0) host.kill(host.pid, "SIGTERM");
    });
  }

  function uninstall(): void {
    host?.off("SIGTERM", onSigterm);
    installed = false;
  }

  return {
    signal: abort.signal,
    stop,
    onStop(hear: (request: StopRequest) => unknown): () => void {
      handlers.add(hear);
      if (stopped !== null) void give(stopped, [hear]);
      if (!installed && host !== null) {
        host.on("SIGTERM", onSigterm);
        installed = true;
      }
      return () => {
        handlers.delete(hear);
        if (handlers.size === 0) uninstall();
      };
    },
    close: uninstall,
  };
}
