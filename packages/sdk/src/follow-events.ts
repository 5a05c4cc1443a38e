import { type DurationMs, type EventType, Fault, type RouseEvent, type SavedEvent, seconds } from "@rouse/contract";
import { ask } from "./call-api.ts";
import type { Line } from "./open-line.ts";
import { authorised, faultOf, unreachable } from "./send.ts";

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
  /** Called with each connection, before its first event: a display that shows the present state should reload it. */
  readonly onConnected?: () => void;
}

/** An event as saved. AGENT_HEARTBEAT and AGENT_ACTIVITY_CHANGED are not saved and have no id. */
export type StreamedEvent = RouseEvent & { id?: number; time: string };

/** Rouse sends something every 15 s; a connection that is quiet for longer is dead. */
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
      // Without an id to continue after, a connection lost before the first event would lose what happened meanwhile.
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

/** One connection, until it ends, falls silent or is no longer read. */
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

/** Aborts when it is not renewed in time, and at the end, so that an abandoned connection is closed. */
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

/** One server-sent event. A frame without data only moves the id to continue after. */
export interface Frame {
  readonly id: string | null;
  readonly data: string | null;
}

/** Cuts a stream of bytes into frames. `heard` is called for every piece that arrives, comments included. */
export async function* readFrames(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<Frame, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let lines: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return; // a frame that was not finished is not an event
    heard();
    // A carriage return at the very end may be half of a line end.
    const pieces = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!\n|$)/);
    rest = pieces.pop() ?? "";
    for (const line of pieces) {
      if (line !== "") lines.push(line);
      else {
        const frame = toFrame(lines);
        lines = [];
        if (frame.id !== null || frame.data !== null) yield frame;
      }
    }
  }
}

function toFrame(lines: readonly string[]): Frame {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") id = value;
    if (field === "data") data.push(value);
  }
  return { id, data: data.length === 0 ? null : data.join("\n") };
}
