import type { IncomingMessage, ServerResponse } from "node:http";
import { EventPage, type EventType, eventTypes, Fault, SavedEvent, toIso } from "@rouse/contract";
import type { Monitor } from "../monitor.ts";
import type { EventQuery } from "../ports/store.ts";
import { cursor, get, limit, pageOf, type Route, readers, someOf, stretchOf, text, wholeNumber } from "./route.ts";

const pageSize = 500;
const keepAliveEvery = 15_000;
/** In bytes. A reader that is this far behind is cut off; it comes back with the last id it saw and misses nothing. */
const mostBuffered = 4 * 1024 * 1024;

const after = wholeNumber("only events after this id, from the oldest on", "must be the id of an event");

/** Whether it was given has to show: a stream has no pages. */
const { otherwise, ...pageLimit } = limit(100, 1000);

export function eventRoutes(monitor: Monitor, isStillWelcome: Stream["isStillWelcome"]): Route[] {
  return [
    get("/api/v1/events", {
      who: readers,
      id: "listEvents",
      about: "A page of events; with Accept: text/event-stream events as they are saved (resumable by Last-Event-ID)",
      request: {
        query: {
          after,
          agent: text("only this agent's"),
          types: someOf("only these types", eventTypes),
          limit: pageLimit,
          cursor,
        },
      },
      answer: { 200: { content: { "application/json": EventPage, "text/event-stream": SavedEvent } } },
      async run({ query, raw, reply }) {
        const lastSeen = raw.headers["last-event-id"];
        const { limit = otherwise, cursor, agent: agentId, types } = query;
        const seen = typeof lastSeen === "string" ? after.read(lastSeen, "Last-Event-ID") : query.after;
        if (!raw.headers.accept?.includes("text/event-stream")) {
          const stretch = stretchOf({ after: seen, cursor });
          const found = await monitor.events({ limit: limit + 1, ...stretch, agentId, types });
          const { page, next } = pageOf(found, limit, ({ id }) => id);
          return { events: seen === undefined ? page.reverse() : page, next };
        }
        if (query.limit !== undefined || cursor !== undefined)
          throw new Fault(
            "bad-request",
            "limit and cursor are for pages: ask for them without Accept: text/event-stream",
          );
        reply.hijack();
        streamEvents({ monitor, after: seen, agentId, types, isStillWelcome }, raw, reply.raw);
        return reply;
      },
    }),
  ];
}

interface Stream extends Pick<EventQuery, "after" | "agentId" | "types"> {
  readonly monitor: Monitor;
  /** Streams last for days, and tokens are revoked meanwhile. */
  readonly isStillWelcome: (request: IncomingMessage) => boolean;
}

/** Server-sent events: those saved after the id that the reader last saw, then new ones, each once and in order. */
function streamEvents(
  { monitor, after, agentId, types, isStillWelcome }: Stream,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  if (request.method === "HEAD") return void response.end();
  response.write(": rouse events\n\n");
  let sentThrough = after ?? monitor.lastEventId();
  let live: SavedEvent[] | null = [];
  const matches = (event: SavedEvent): boolean =>
    (types === undefined || types.includes(event.type)) &&
    (agentId === undefined || (event.payload as { agentId?: string | null }).agentId === agentId);
  const send = (event: SavedEvent): void => {
    if (event.id <= sentThrough) return;
    sentThrough = event.id;
    if (matches(event)) write(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  const write = (text: string): void => {
    if (response.writableLength > mostBuffered || !isStillWelcome(request)) response.destroy();
    else if (response.writable) response.write(text);
  };
  const stopEvents = monitor.onEvents((events) => {
    if (live !== null) live.push(...events);
    else for (const event of events) send(event);
  });
  const wants = (type: EventType): boolean => types?.includes(type) ?? false;
  const pass = (type: EventType, payload: { agentId: string }, time: number): void => {
    if (agentId !== undefined && payload.agentId !== agentId) return;
    write(`event: ${type}\ndata: ${JSON.stringify({ time: toIso(time), type, payload })}\n\n`);
  };
  const stops = [
    ...(wants("AGENT_HEARTBEAT") ? [monitor.onBeat((beat, time) => pass("AGENT_HEARTBEAT", beat, time))] : []),
    ...(wants("AGENT_ACTIVITY_CHANGED")
      ? [monitor.onActivity((change, time) => pass("AGENT_ACTIVITY_CHANGED", change, time))]
      : []),
  ];
  const keepAlive = setInterval(() => write(": still here\n\n"), keepAliveEvery);
  request.socket.once("close", () => {
    clearInterval(keepAlive);
    stopEvents();
    for (const stop of stops) stop();
  });

  const catchUp = async (): Promise<void> => {
    for (;;) {
      const page = await monitor.events({ agentId, types, after: sentThrough, limit: pageSize });
      for (const event of page) send(event);
      if (page.length < pageSize) break;
    }
    for (const event of live ?? []) send(event);
    live = null;
  };
  catchUp().catch(() => response.destroy());
}
