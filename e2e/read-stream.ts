import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { SavedEvent } from "@rouse/contract";
import { afterwards } from "./clean-up.ts";
import type { Daemon } from "./start-daemon.ts";
import { until } from "./until.ts";

interface EventStream {
  readonly response: IncomingMessage;
  /** Everything that has come so far. AGENT_HEARTBEAT has no id. */
  readonly events: (Omit<SavedEvent, "id"> & { readonly id?: number })[];
  untilEvent(what: string, isIt: (event: SavedEvent) => boolean): Promise<SavedEvent>;
  hasEnded(): boolean;
  close(): void;
}

/** Opens the stream as a browser's EventSource does, and reads it as it comes. With `read: false` nobody reads it. */
export async function openStream(
  daemon: Daemon,
  { query = "", lastEventId, read = true }: { query?: string; lastEventId?: number; read?: boolean } = {},
): Promise<EventStream> {
  const headers = {
    authorization: `Bearer ${daemon.token}`,
    accept: "text/event-stream",
    ...(lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) }),
  };
  const asked = request(`${daemon.url}/api/v1/events?${query}`, { headers, agent: false });
  const response = await answerTo(asked);
  const events: SavedEvent[] = [];
  let rest = "";
  let ended = false;
  response.on("error", () => undefined);
  response.once("close", () => {
    ended = true;
  });
  response.setEncoding("utf8");
  const take = (text: string): void => {
    const frames = (rest + text).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) events.push(JSON.parse(data) as SavedEvent);
    }
  };
  if (read) response.on("data", take);
  const close = (): void => void response.destroy();
  afterwards(close);
  return {
    response,
    events,
    untilEvent: (what, isIt) => until(what, () => events.find(isIt)),
    hasEnded: () => ended,
    close,
  };
}

function answerTo(asked: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    asked.once("response", resolve);
    asked.once("error", reject);
    asked.end();
  });
}
