import { type DurationMs, type EventType, Fault, type RouseEvent, type SavedEvent, seconds } from "@rouse/contract";
import { ask, authorised, faultOf, unreachable } from "./call-api.ts";
import type { Line } from "./open-line.ts";
import { type Frame, readFrames } from "./read-frames.ts";

export interface EventFilter {
  /** Only events with a larger id. */
  readonly after?: number;
  readonly agentId?: string;
  readonly types?: readonly EventType[];
}

export interface EventStreamOptions extends EventFilter {
  readonly signal?: AbortSignal;
  /** Called when the connection broke off and will be tried again. */
  readonly onInterrupted?: (fault: Fault) => void;
  /** Called with each connection, before its first event: whoever shows how things are looks anew. */
  readonly onConnected?: () => void;
}

/** As saved; only what is passed on and not saved as an event (AGENT_HEARTBEAT, AGENT_ACTIVITY_CHANGED) has no id. */
export type StreamedEvent = RouseEvent & { id?: number; time: string };

/** Rouse says something every 15 s; a connection that is quiet for longer is dead without knowing it. */
const quietAtMost = seconds(45);
const firstPause = 200;
const longestPause = seconds(5);

export function eventSearch({ after, agentId, types }: EventFilter): URLSearchParams {
  const search = new URLSearchParams();
  if (after !== undefined) search.set("after", String(after));
  if (agentId !== undefined) search.set("agent", agentId);
  if (types !== undefined) search.set("types", types.join(","));
  return search;
}

export async function* followEvents(
  line: Line,
  options: EventStreamOptions,
): AsyncGenerator<StreamedEvent, void, void> {
  const { signal, onInterrupted } = options;
  let after = options.after;
  let attempts = 0;
  let connected = false;
  while (!signal?.aborted) {
    try {
      // Without a place to go on from, a connection lost before the first event would lose what happened meanwhile.
      after ??= await newestId(line, signal);
      const opened = (): void => {
        connected = true;
        options.onConnected?.();
      };
      for await (const { id, data } of openStream(line, { ...options, after }, opened)) {
        attempts = 0;
        if (id !== null) after = Number(id);
        if (data !== null) yield JSON.parse(data) as StreamedEvent;
      }
      throw new Fault("daemon-unreachable", `the connection to ${line.base} ended`, { retryable: true });
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof Fault && error.retryable && connected)) throw error;
      onInterrupted?.(error);
    }
    await pause(Math.min(firstPause * 2 ** attempts++, longestPause), signal);
  }
}

async function newestId(line: Line, signal: AbortSignal | undefined): Promise<number> {
  const { events } = await ask<{ events: SavedEvent[] }>(line, { path: "/api/v1/events?limit=1", signal });
  return events.at(-1)?.id ?? 0;
}

/** One connection, until it ends, falls silent or nobody reads it any more. */
async function* openStream(
  line: Line,
  options: EventStreamOptions,
  onOpen: () => void,
): AsyncGenerator<Frame, void, void> {
  const patience = startPatience(line);
  const signals = [patience.signal, ...(options.signal ? [options.signal] : [])];
  try {
    const response = await line.fetch(`${line.base}/api/v1/events?${eventSearch(options)}`, {
      headers: { ...authorised(line), accept: "text/event-stream" },
      redirect: "manual",
      signal: AbortSignal.any(signals),
    });
    if (!response.ok || response.body === null) {
      const body: unknown = await response.json().catch(() => null);
      throw faultOf(line, { ok: false, status: response.status, body });
    }
    onOpen();
    patience.renew();
    yield* readFrames(response.body, () => patience.renew());
  } catch (error) {
    throw error instanceof Fault ? error : unreachable(line, error);
  } finally {
    patience.end();
  }
}

/** Aborts when it was not renewed in time, and at the end, so that an abandoned connection is closed. */
function startPatience({ base, timeout }: Line) {
  const controller = new AbortController();
  const waitAtMost = (lasts: DurationMs) =>
    setTimeout(() => {
      const message = `nothing was heard from ${base} for ${lasts / 1000} s`;
      controller.abort(new Fault("daemon-unreachable", message, { retryable: true }));
    }, lasts);
  let timer = waitAtMost(timeout);
  return {
    signal: controller.signal,
    renew() {
      clearTimeout(timer);
      timer = waitAtMost(quietAtMost);
    },
    end() {
      clearTimeout(timer);
      controller.abort();
    },
  };
}

function pause(lasts: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, lasts);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}
