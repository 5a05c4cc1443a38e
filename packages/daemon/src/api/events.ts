import type { IncomingMessage, ServerResponse } from "node:http";
import { EventPage, type EventType, eventTypes, SavedEvent, toIso } from "@rouse/contract";
import type { Monitor } from "../monitor.ts";
import { cursor, limit, pageOf, type Route, readers, route, someOf, stretchOf, text, wholeNumber } from "./route.ts";

const pageSize = 500;
const keepAliveEvery = 15_000;
/** A reader that is this far behind is cut off; it comes back with the last id it saw and misses nothing. */
const mostBuffered = 4 * 1024 * 1024;

const after = wholeNumber("only events after this id, from the oldest on", "must be the id of an event");

export function eventRoutes(monitor: Monitor, isStillWelcome: Stream["isStillWelcome"]): Route[] {
  return [
    route({
      method: "GET",
      path: "/api/v1/events",
      who: readers,
      id: "listEvents",
      about: "Events as they are saved (server-sent, resumable by Last-Event-ID), or a page of them as JSON",
      request: {
        query: {
          after,
          agent: text("only this agent's"),
          types: someOf("only these types", eventTypes),
          limit: limit(100, 1000),
          cursor,
        },
      },
      answer: { 200: { content: { "application/json": EventPage, "text/event-stream": SavedEvent } } },
      async run({ query, raw, reply }) {
        const lastSeen = raw.headers["last-event-id"];
        const filter: EventFilter = {
          after: (typeof lastSeen === "string" ? after.read(lastSeen, "Last-Event-ID") : query.after) ?? null,
          agentId: query.agent ?? null,
          types: query.types ?? null,
        };
        if (raw.headers.accept?.includes("application/json")) {
          const { agentId, types } = filter;
          const after = filter.after ?? undefined;
          const found = await monitor.events({
            limit: query.limit + 1,
            ...stretchOf({ after, cursor: query.cursor }),
            ...(agentId === null ? {} : { agentId }),
            ...(types === null ? {} : { types }),
          });
          const { page, next } = pageOf(found, query.limit, ({ id }) => id);
          return { events: after === undefined ? page.reverse() : page, next };
        }
        reply.hijack();
        streamEvents({ monitor, filter, isStillWelcome }, raw, reply.raw);
        return reply;
      },
    }),
  ];
}

interface EventFilter {
  readonly after: number | null;
  readonly agentId: string | null;
  readonly types: readonly EventType[] | null;
}

interface Stream {
  readonly monitor: Monitor;
  readonly filter: EventFilter;
  /** Streams last for days, and tokens are revoked meanwhile. */
  readonly isStillWelcome: (request: IncomingMessage) => boolean;
}

/**
 * Server-sent events. First what was saved after the id the reader last saw, then what is saved from now on, each once and in order.
 */
function streamEvents(
  { monitor, filter, isStillWelcome }: Stream,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  response.write(": rouse events\n\n");
  let sentThrough = filter.after ?? monitor.lastEventId();
  let live: SavedEvent[] | null = [];
  const matches = (event: SavedEvent): boolean =>
    (filter.types === null || filter.types.includes(event.type)) &&
    (filter.agentId === null || (event.payload as { agentId?: string | null }).agentId === filter.agentId);
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
  const wants = (type: EventType): boolean => filter.types?.includes(type) ?? false;
  const pass = (type: EventType, payload: { agentId: string }, time: number): void => {
    if (filter.agentId !== null && payload.agentId !== filter.agentId) return;
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

  const query = {
    ...(filter.agentId === null ? {} : { agentId: filter.agentId }),
    ...(filter.types === null ? {} : { types: filter.types }),
  };
  const catchUp = async (): Promise<void> => {
    for (;;) {
      const page = await monitor.events({ ...query, after: sentThrough, limit: pageSize });
      for (const event of page) send(event);
      if (page.length < pageSize) break;
    }
    for (const event of live ?? []) send(event);
    live = null;
  };
  catchUp().catch(() => response.destroy());
}
